//! Rules on functions that call each other.

use hashbrown::{HashMap, HashSet};

use super::{Place, Verifier, VerifyErrors};
use crate::function::{Function, Module};
use crate::opcode::Opcode;

/// All broken rules of a module, function by function. Displays as the code of
/// the functions concerned.
#[derive(Clone, PartialEq, Debug)]
pub struct ModuleErrors {
    /// Position of the function in the module, and its errors.
    pub functions: Vec<(usize, VerifyErrors)>,
}

impl std::fmt::Display for ModuleErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (_, errors)) in self.functions.iter().enumerate() {
            write!(f, "{}{errors}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ModuleErrors {}

/// Checks every function as [`verify`](fn@super::verify) does, and how they
/// call each other: names are distinct, every callee is in the module and has
/// the signature declared, and `exit` stands only in functions that no call
/// and no `func_addr` names.
///
/// # Errors
/// All rules that are broken, of all functions.
pub fn verify_module(module: &Module) -> Result<(), ModuleErrors> {
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (i, func) in module.functions.iter().enumerate() {
        by_name.entry(&func.name).or_insert(i);
    }
    let called: HashSet<&str> = module
        .functions
        .iter()
        .flat_map(|f| f.callees.values())
        .map(|c| c.name.as_str())
        .collect();
    let mut all = Vec::new();
    for (i, func) in module.functions.iter().enumerate() {
        let mut verifier = Verifier::new(func);
        if by_name.get(func.name.as_str()) != Some(&i) {
            let message = format!("there is another function `%{}`", func.name);
            verifier.report(Place::Function, message);
        }
        verifier.callees(module, &by_name);
        verifier.function();
        if called.contains(func.name.as_str()) {
            verifier.no_exits(func);
        }
        if let Err(errors) = verifier.finish() {
            all.push((i, errors));
        }
    }
    match all.is_empty() {
        true => Ok(()),
        false => Err(ModuleErrors { functions: all }),
    }
}

impl Verifier<'_> {
    fn callees(&mut self, module: &Module, by_name: &HashMap<&str, usize>) {
        for (callee, data) in self.func.callees.iter() {
            let name = &data.name;
            let Some(&at) = by_name.get(name.as_str()) else {
                let message = format!("{callee}: there is no function `%{name}`");
                self.report(Place::Function, message);
                continue;
            };
            let signature = module.functions[at].signature();
            if signature != data.signature {
                let message = format!(
                    "{callee} is declared as {}, but `%{name}` is {signature}",
                    data.signature
                );
                self.report(Place::Function, message);
            }
        }
    }

    /// Lanes that exited would leave their callers too, which those do not
    /// know of.
    fn no_exits(&mut self, func: &Function) {
        for &b in func.layout.iter().filter(|&&b| func.has_block(b)) {
            for &i in &func.block(b).insts {
                if func.has_inst(i) && func.inst(i).op == Opcode::Exit {
                    let message = "`exit` stands in kernels only, and this function is called";
                    self.report(Place::Inst(i), message);
                }
            }
        }
    }
}
