//! Cranelift's native code for the machine that the test runs on.

use cranelift_codegen::ir::Function;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

/// Compiled functions.
pub struct Native {
    module: JITModule,
    count: usize,
}

/// A function of a [`Native`] that takes the addresses of its arguments and
/// of its results, in cells of 16 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    id: FuncId,
    results: usize,
    params: usize,
}

impl Native {
    /// `None` where there is no compiler for the machine, or where the cells
    /// would not be laid out as here.
    pub fn new() -> Option<Self> {
        let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        if !known || cfg!(target_endian = "big") {
            return None;
        }
        let mut flags = settings::builder();
        flags.set("use_colocated_libcalls", "false").ok()?;
        flags.set("is_pic", "false").ok()?;
        let isa = cranelift_native::builder().ok()?;
        let isa = isa.finish(settings::Flags::new(flags)).ok()?;
        let builder = JITBuilder::with_isa(isa, default_libcall_names());
        Some(Self {
            module: JITModule::new(builder),
            count: 0,
        })
    }

    /// Compiles a trampoline, or says why it cannot be.
    pub fn define(
        &mut self,
        mut func: Function,
        params: usize,
        results: usize,
    ) -> Result<Compiled, String> {
        func.signature.call_conv = self.module.isa().default_call_conv();
        let name = format!("f{}", self.count);
        self.count += 1;
        let id = self
            .module
            .declare_function(&name, Linkage::Local, &func.signature)
            .map_err(|e| e.to_string())?;
        let mut context = self.module.make_context();
        context.func = func;
        self.module
            .define_function(id, &mut context)
            .map_err(|e| format!("{e:?}"))?;
        Ok(Compiled {
            id,
            results,
            params,
        })
    }

    /// Makes what was defined ready to be called.
    pub fn finish(&mut self) {
        self.module
            .finalize_definitions()
            .expect("the functions call nothing but what the runtime has");
    }

    /// Calls a function that was defined before [`finish`](Self::finish).
    pub fn call(&self, function: Compiled, args: &[u128]) -> Vec<u128> {
        assert_eq!(args.len(), function.params);
        let mut results = vec![0; function.results];
        let code = self.module.get_finalized_function(function.id);
        jump::to(code, args, &mut results);
        results
    }
}

/// The one place that leaves Rust.
#[allow(unsafe_code)]
mod jump {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) fn to(code: *const u8, args: &[u128], results: &mut [u128]) {
        // SAFETY: `code` is the start of a finished function that the JIT made
        // from a `Case::trampoline`: two pointers in, nothing out, in the
        // machine's own convention. It loads at most a cell for each parameter
        // and stores at most a cell for each result, and the caller has made
        // the slices that long. It is Cranelift's verified code, calls nobody
        // but the runtime's math, and is not given inputs that trap. The
        // module that owns the code outlives the call.
        unsafe {
            let call: extern "C" fn(*const u128, *mut u128) = std::mem::transmute(code);
            call(args.as_ptr(), results.as_mut_ptr());
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn to(_: *const u8, _: &[u128], _: &mut [u128]) {
        unreachable!("there is no `Native` on this machine");
    }
}
