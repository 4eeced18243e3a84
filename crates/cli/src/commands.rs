//! The commands: one row here, one file each.

use crate::failure::Failure;

macro_rules! commands {
    ($($(#[doc = $doc:literal])* $name:ident => $module:ident;)*) => {
        $(mod $module;)*

        /// What to do.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[doc = $doc])* $name(Box<$module::Args>),)*
        }

        impl Command {
            /// Does it.
            pub fn execute(self) -> Result<(), Failure> {
                match self {
                    $(Self::$name(args) => args.execute(),)*
                }
            }
        }
    };
}

commands! {
    /// Decide, convert, run before and after, and compare
    Run => run;
    /// Say what would be decided for each branch, and why; nothing runs
    Explain => explain;
    /// Print the converted IR
    Opt => opt;
    /// Print the IR with what is uniform in it, and why not
    Uniformity => uniformity;
    /// Run the kernel as written and count
    Exec => exec;
    /// Run test files and compare with what they expect
    Test => test;
    /// Check what the literature says of warp divergence, and compare
    Claims => claims;
    /// List the machines, or print one
    Machines => machines;
    /// List the policies, or compare what they make of a kernel
    Policies => policies;
}
