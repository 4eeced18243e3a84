//! The kernels that the executor is timed on, each in three forms: a kernel for
//! warps, which the interpreter runs as well, and a scalar loop over all items,
//! which is compiled to machine code.
//!
//! A body gets the addresses of input and output and the item's number; it ends
//! by a jump to `block90`.

use cranelift_codegen::ir::Function as ClifFunction;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use warpfold::exec::{self, Arg, ExecOptions, Launch};
use warpfold::ir::Function;
use warpfold::{Options, Source, Syntax};
use warpfold_testkit::oracle;

/// Work-items of one run.
pub const ITEMS: u32 = 4096;

/// Names with bodies: `v0` is the input's address, `v1` the output's, `v2` the
/// item, `v4` the offset of its cell.
const KERNELS: &[(&str, &str)] = &[
    ("mandelbrot", MANDELBROT),
    ("collatz32", COLLATZ32),
    ("collatz64", COLLATZ64),
    ("clamp", CLAMP),
    ("sign", SIGN),
    ("saxpy", SAXPY),
];

const MANDELBROT: &str = "
    v10 = iconst.i32 63
    v11 = band v2, v10
    v12 = iconst.i32 6
    v13 = ushr v2, v12
    v14 = fcvt_from_uint.f32 v11
    v15 = fcvt_from_uint.f32 v13
    v16 = f32const 0x1.8p-5
    v17 = f32const -0x1.1p1
    v18 = f32const -0x1.2p0
    v19 = fmul v14, v16
    v20 = fadd v19, v17
    v21 = fmul v15, v16
    v22 = fadd v21, v18
    v23 = f32const 0.0
    v24 = f32const 0x1.0p2
    v25 = iconst.i32 0
    v26 = iconst.i32 1
    v27 = iconst.i32 256
    jump block2(v25, v23, v23)
block2(v30: i32, v31: f32, v32: f32):
    v33 = fmul v31, v31
    v34 = fmul v32, v32
    v35 = fadd v33, v34
    v36 = fcmp gt v35, v24
    brif v36, block5, block3
block3:
    v37 = icmp ult v30, v27
    brif v37, block4, block5
block4:
    v38 = fsub v33, v34
    v39 = fadd v38, v20
    v40 = fmul v31, v32
    v41 = fadd v40, v40
    v42 = fadd v41, v22
    v43 = iadd v30, v26
    jump block2(v43, v39, v42)
block5:
    v44 = iadd v1, v4
    store v30, v44
    jump block90
";

const COLLATZ32: &str = "
    v9 = iconst.i32 0
    v10 = iconst.i32 1
    v11 = iconst.i32 3
    v12 = iadd v2, v10
    jump block2(v12, v9)
block2(v13: i32, v14: i32):
    v15 = icmp ugt v13, v10
    brif v15, block3, block7
block3:
    v16 = band v13, v10
    brif v16, block4, block5
block4:
    v17 = imul v13, v11
    v18 = iadd v17, v10
    jump block6(v18)
block5:
    v19 = ushr v13, v10
    jump block6(v19)
block6(v20: i32):
    v21 = iadd v14, v10
    jump block2(v20, v21)
block7:
    v22 = iadd v1, v4
    store v14, v22
    jump block90
";

const COLLATZ64: &str = "
    v9 = iconst.i32 0
    v10 = iconst.i64 1
    v11 = iconst.i64 3
    v8 = uextend.i64 v2
    v7 = iconst.i32 1
    v12 = iadd v8, v10
    jump block2(v12, v9)
block2(v13: i64, v14: i32):
    v15 = icmp ugt v13, v10
    brif v15, block3, block7
block3:
    v16 = band v13, v10
    brif v16, block4, block5
block4:
    v17 = imul v13, v11
    v18 = iadd v17, v10
    jump block6(v18)
block5:
    v19 = ushr v13, v10
    jump block6(v19)
block6(v20: i64):
    v21 = iadd v14, v7
    jump block2(v20, v21)
block7:
    v22 = iadd v1, v4
    store v14, v22
    jump block90
";

const CLAMP: &str = "
    v10 = iadd v0, v4
    v11 = iadd v1, v4
    v12 = load.i32 v10
    v13 = iconst.i32 0
    v14 = iconst.i32 100
    v15 = icmp slt v12, v13
    brif v15, block4(v13), block2
block2:
    v16 = icmp sgt v12, v14
    brif v16, block4(v14), block3
block3:
    jump block4(v12)
block4(v17: i32):
    store v17, v11
    jump block90
";

const SIGN: &str = "
    v10 = iadd v0, v4
    v11 = iadd v1, v4
    v12 = load.i32 v10
    v13 = iconst.i32 0
    v14 = iconst.i32 -50
    v15 = iconst.i32 50
    v16 = icmp slt v12, v13
    brif v16, block2, block5
block2:
    v17 = icmp slt v12, v14
    brif v17, block3, block4
block3:
    v18 = imul v12, v12
    jump block8(v18)
block4:
    v19 = isub v13, v12
    jump block8(v19)
block5:
    v20 = icmp sgt v12, v15
    brif v20, block6, block7
block6:
    v21 = iadd v12, v12
    jump block8(v21)
block7:
    v22 = bxor v12, v15
    jump block8(v22)
block8(v23: i32):
    store v23, v11
    jump block90
";

const SAXPY: &str = "
    v10 = iadd v0, v4
    v11 = iadd v1, v4
    v12 = load.f32 v10
    v13 = load.f32 v11
    v14 = f32const 0x1.8p1
    v15 = fmul v14, v12
    v16 = fadd v15, v13
    store v16, v11
    jump block90
";

/// One kernel, ready to run in all forms.
pub struct Subject {
    pub name: &'static str,
    pub func: Function,
    pub launch: Launch,
    clif: ClifFunction,
    native: Native,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// All kernels.
pub fn subjects() -> Vec<Subject> {
    KERNELS
        .iter()
        .map(|&(name, body)| subject(name, body))
        .collect()
}

fn subject(name: &'static str, body: &str) -> Subject {
    let offset = "    v80 = uextend.i64 v2\n    v81 = iconst.i64 2\n    v4 = ishl v80, v81\n";
    let warps = format!(
        "function %k(i64, i64) {{\n    fn0 = %tid_x() -> i32\n    fn1 = %ctaid_x() -> i32\n    \
         fn2 = %ntid_x() -> i32\nblock0(v0: i64, v1: i64):\n    v82 = call fn0()\n    \
         v83 = call fn1()\n    v84 = call fn2()\n    v85 = imul v83, v84\n    v2 = iadd v85, v82\n\
         {offset}{body}block90:\n    return\n}}\n"
    );
    let scalar = format!(
        "function %k(i64, i64, i32) {{\nblock0(v0: i64, v1: i64, v86: i32):\n    \
         v87 = iconst.i32 0\n    v88 = iconst.i32 1\n    jump block1(v87)\nblock1(v2: i32):\n\
         {offset}{body}block90:\n    v89 = iadd v2, v88\n    v90 = icmp ult v89, v86\n    \
         brif v90, block1(v89), block91\nblock91:\n    return\n}}\n"
    );
    let kernel = Source::parse(&warps, name, Syntax::Clif)
        .and_then(|s| s.kernel(&Default::default(), &Options::default()))
        .and_then(|k| k.lowered.clean())
        .expect("the kernel is valid");
    let bytes = ITEMS as usize * 4;
    let numbers = (0..ITEMS).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as i32 - 100);
    let input: Vec<u8> = match name {
        "saxpy" => numbers.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        _ => numbers.flat_map(i32::to_le_bytes).collect(),
    };
    let output = vec![0; bytes];
    let mut launch = Launch::linear(ITEMS / 256, 256);
    let addresses = [
        launch.memory.add(input.clone(), false),
        launch.memory.add(output.clone(), false),
    ];
    launch.args = addresses.map(|a| Arg::Uniform(a.into())).to_vec();
    let parsed = |text: &str| oracle::function(text, "k").expect("the text is CLIF");
    Subject {
        name,
        func: kernel.func().clone(),
        launch,
        clif: parsed(&warps),
        native: Native::new(parsed(&scalar)),
        input,
        output,
    }
}

impl Subject {
    fn launched(&self) -> exec::Outcome {
        let options = ExecOptions {
            step_limit: u64::MAX,
            ..ExecOptions::default()
        };
        exec::run(&self.func, &self.launch, &options).expect("it finishes")
    }

    /// Runs it on warps; the output.
    pub fn on_warps(&self) -> Vec<u8> {
        self.launched().memory.bytes(1).to_vec()
    }

    /// The warps' issues.
    pub fn issues(&self) -> u64 {
        self.launched().counters.inst_executed
    }

    /// Runs Cranelift's interpreter on each of the items; the output.
    pub fn interpreted(&self) -> Vec<u8> {
        let end = oracle::run(&self.clif, &self.launch, u64::MAX).expect("it finishes");
        end.memory[1].clone()
    }

    /// Runs the machine code of the scalar loop; the output.
    pub fn native(&mut self) -> &[u8] {
        self.output.fill(0);
        self.native.run(&self.input, &mut self.output, ITEMS);
        &self.output
    }

    /// Checks that all forms do the same.
    pub fn check(&mut self) {
        let (name, ours) = (self.name, self.on_warps());
        assert_eq!(ours, self.interpreted(), "{name}");
        assert_eq!(ours, self.native(), "{name}");
    }
}

/// The machine code of one scalar loop.
struct Native {
    module: JITModule,
    code: cranelift_module::FuncId,
}

impl Native {
    fn new(mut func: ClifFunction) -> Self {
        let mut flags = settings::builder();
        for (name, value) in [
            ("use_colocated_libcalls", "false"),
            ("is_pic", "false"),
            ("opt_level", "speed"),
        ] {
            flags.set(name, value).expect("a setting");
        }
        let host = cranelift_native::builder().expect("Cranelift knows this machine");
        let isa = host.finish(settings::Flags::new(flags));
        let isa = isa.expect("the settings fit the machine");
        let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        func.signature.call_conv = module.isa().default_call_conv();
        let code = module
            .declare_function("k", Linkage::Local, &func.signature)
            .expect("a new name");
        let mut context = module.make_context();
        context.func = func;
        module
            .define_function(code, &mut context)
            .expect("it compiles");
        module.finalize_definitions().expect("it calls nobody");
        Self { module, code }
    }

    /// The one place that leaves Rust.
    #[allow(unsafe_code)]
    fn run(&self, input: &[u8], output: &mut [u8], items: u32) {
        assert!(input.len() >= items as usize * 4 && output.len() >= items as usize * 4);
        let code = self.module.get_finalized_function(self.code);
        // SAFETY: `code` is the start of a finished function that takes two
        // pointers and a count in the machine's own convention, loads from and
        // stores to the four bytes of each item only, which both slices have, and
        // calls nobody. The module that owns the code outlives the call.
        unsafe {
            let call: extern "C" fn(*const u8, *mut u8, u32) = std::mem::transmute(code);
            call(input.as_ptr(), output.as_mut_ptr(), items);
        }
    }
}
