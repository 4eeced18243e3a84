//! The scalar run of our own IR: against the executor on every filetest with a
//! launch, and on small kernels by hand.

use std::path::Path;

use warpfold::exec::{self, Arg, ExecOptions, Launch, Memory, Outcome, Site};
use warpfold::ir::{Function, Module, Opcode, TrapCode, parse_module, verify_module};
use warpfold::launch::LaunchSpec;
use warpfold_testkit::filetest::{
    FileTest, Options, Output, Registry, Runner, TestFile, test_files,
};
use warpfold_testkit::scalar::{self, End, Expected, ScalarError};

const LIMIT: u64 = 10_000_000;

/// `test exec` with the scalar run in the place of expectations.
struct Both;

impl FileTest for Both {
    fn name(&self) -> &str {
        "exec"
    }

    fn options(&self) -> &[&str] {
        &["joins", "mode", "steps", "depth", "timing"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let mut out = Output::default();
        let spec = LaunchSpec::from_source(&file.text).map_err(|e| e.to_string())?;
        let mut functions = file.functions()?;
        let index = spec
            .kernel(functions.iter().map(|f| f.name.as_str()))
            .map_err(|e| e.to_string())?;
        spec.mark_varying(&mut functions[index]);
        let launch = spec
            .build(&functions[index], file.folder())
            .map_err(|e| e.to_string())?;
        let depth = options.get("depth").map_or(1024, |d| d.parse().unwrap());
        let how = ExecOptions {
            call_depth: depth,
            ..ExecOptions::default()
        };
        let functions: Vec<&Function> = functions.iter().collect();
        // What ends badly on the stack has nothing to compare.
        let Ok(run) = exec::run_functions(&functions, index, &launch, &how) else {
            return Ok(out);
        };
        match scalar::run(&functions, index, &launch, depth as usize, LIMIT) {
            Err(ScalarError::Unsupported(_)) => {}
            Err(e) => return Err(e.to_string()),
            Ok(expected) => {
                scalar::compare(&expected, &run)?;
                out.fact("compared", true);
            }
        }
        Ok(out)
    }
}

#[test]
fn the_executor_agrees_on_every_filetest_with_a_launch() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = crate_folder.join("../../tests/filetests");
    let folders = [
        folder.join("exec"),
        folder.join("calls"),
        crate_folder.join("claims"),
    ];
    let mut compared = 0;
    for folder in folders {
        for path in test_files(&folder).unwrap() {
            let text = std::fs::read_to_string(&path).unwrap();
            // Which lanes of a race get a lock is for the schedule to say; and a thread
            // that waits for a later one waits for ever.
            let name = path.file_name().unwrap().to_str().unwrap();
            let races = name.starts_with("c79-bounded") || name.starts_with("c82");
            if races || !text.lines().any(|l| l.starts_with("test exec")) {
                continue;
            }
            let mut registry = Registry::new();
            registry.register(Both);
            // The file's other tests and what it expects do not matter here.
            let other = |l: &&str| {
                let test = l.starts_with("test ") && !l.starts_with("test exec");
                test || l.starts_with("; expect") || l.starts_with("; >")
            };
            let only: Vec<&str> = text.lines().filter(|l| !other(l)).collect();
            match Runner::new(registry).compared(&path, &only.join("\n")) {
                Ok(run) => compared += usize::from(run.output.get("compared").is_some()),
                // Its launch is meant to be refused.
                Err(e) if text.contains("; error:") => println!("{e}"),
                Err(e) => panic!("{}: {e}", path.display()),
            }
        }
    }
    assert!(compared > 130, "{compared}");
}

fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify_module(&module).unwrap_or_else(|e| panic!("{e}"));
    module
}

fn both(m: &Module, launch: &Launch) -> (Expected, Outcome) {
    let functions: Vec<&Function> = m.functions.iter().collect();
    let expected = scalar::run(&functions, 0, launch, 1024, LIMIT).unwrap();
    let run = exec::run_functions(&functions, 0, launch, &ExecOptions::default()).unwrap();
    assert_eq!(scalar::compare(&expected, &run), Ok(()));
    (expected, run)
}

/// Guards, an exit, a trap and a barrier: each by itself.
#[test]
fn each_thread_does_what_its_text_says() {
    let m = module(
        "function %k(i64, i32 varying) -> i32 {
         block0(v0: i64, v1: i32):
             v2 = const.i32 2
             v3 = icmp.i32 ult v1, v2
             v4 = iadd.i32 v1, v2 if v3 else v1
             v5 = const.i64 4
             v6 = uextend.i64 v1
             v7 = imul.i64 v6, v5
             v8 = iadd.i64 v7, v0
             store.i32 v4, v8
             barrier
             v9 = const.i32 3
             v10 = icmp.i32 eq v1, v9
             exit if v10
             v11 = const.i32 4
             v12 = icmp.i32 eq v1, v11
             trap if v12, user7
             v13 = bxor.i32 v1, v2
             v14 = uextend.i64 v13
             v15 = imul.i64 v14, v5
             v16 = iadd.i64 v15, v0
             v17 = load.i32 v16
             ret v17
         }",
    );
    let mut memory = Memory::new();
    let address = memory.add(vec![0; 32], false);
    let args = vec![Arg::Uniform(address.into()), Arg::Varying((0..8).collect())];
    let launch = Launch {
        memory,
        ..Launch::linear(1, 8).with_args(args)
    };
    let (expected, run) = both(&m, &launch);
    let returned = |n| End::Returned(vec![n]);
    let trap = End::Trapped {
        code: TrapCode::User(7),
        function: 0,
        site: run.traps[0].site,
    };
    assert_eq!(
        expected.threads,
        [
            returned(2),
            returned(3),
            returned(2),
            End::Exited,
            trap,
            returned(7),
            returned(4),
            returned(5)
        ]
    );
    assert_eq!(expected.memory[0][..8], [2, 0, 0, 0, 3, 0, 0, 0]);
    // What differs is found.
    let mut wrong = expected.clone();
    wrong.threads[5] = returned(8);
    assert!(
        scalar::compare(&wrong, &run)
            .unwrap_err()
            .contains("thread 5")
    );
    let mut wrong = expected.clone();
    wrong.threads[3] = returned(0);
    assert!(scalar::compare(&wrong, &run).is_err());
    let mut wrong = expected.clone();
    if let End::Trapped { site, .. } = &mut wrong.threads[4] {
        *site = Site::Term(m.functions[0].layout[0]);
    }
    assert!(scalar::compare(&wrong, &run).is_err());
    let mut wrong = expected;
    wrong.memory[0][31] = 1;
    assert!(
        scalar::compare(&wrong, &run)
            .unwrap_err()
            .contains("byte 31")
    );
}

#[test]
fn what_depends_on_other_lanes_is_refused() {
    let m = module(
        "function %k(pred varying) -> i32 {
         block0(v0: pred):
             v1 = ballot.i32 v0
             ret v1
         }",
    );
    let functions: Vec<&Function> = m.functions.iter().collect();
    let launch = Launch::linear(1, 2).with_args(vec![Arg::Varying(vec![0, 1])]);
    assert_eq!(
        scalar::run(&functions, 0, &launch, 1024, LIMIT),
        Err(ScalarError::Unsupported(Opcode::Ballot))
    );
    let spin = module("function %k() {\nblock0:\n    jump block1\nblock1:\n    jump block1\n}");
    let functions: Vec<&Function> = spin.functions.iter().collect();
    assert_eq!(
        scalar::run(&functions, 0, &Launch::linear(1, 1), 1024, 1000),
        Err(ScalarError::StepLimit(1000))
    );
}
