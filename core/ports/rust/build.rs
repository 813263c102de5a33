//! Compiles the core for the target, with the plan that the environment names, by the crate `cc`:
//! it knows the C compiler of a Rust target and its flags, and CC_<target> and CFLAGS_<target>.

use std::env;
use std::path::{Path, PathBuf};

const PLAN: &str = "TAU_PLAN";
const HEAP_BYTES: &str = "TAU_HEAP_BYTES";
const NEEDED: &str = "set one of the two (docs/ports/rust.md):
- TAU_PLAN, the path of the header that `tau plan … --header heap_plan.h` writes
- TAU_HEAP_BYTES, the size of a heap without a plan, such as the one to record on";

fn main() {
    println!("cargo:rerun-if-changed=core");
    println!("cargo:rerun-if-env-changed={PLAN}");
    println!("cargo:rerun-if-env-changed={HEAP_BYTES}");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no core, and has no plan
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let ports = root.join("core/ports");
    let mut build = cc::Build::new();
    build.include(&root).opt_level_str("s"); // a plan is for a core at -Os
    build.flag("-std=gnu17").flag("-ffreestanding");
    build.define("TAU_PORT_HEADER", "\"core/ports/rust/port.h\"");
    match (env::var(PLAN).ok(), env::var(HEAP_BYTES).ok()) {
        (Some(plan), None) => build.define(PLAN, quoted(&plan).as_str()),
        (None, Some(bytes)) => {
            assert!(bytes.parse::<u32>().is_ok(), "{HEAP_BYTES}={bytes} is not a number of bytes");
            build.define(HEAP_BYTES, format!("{bytes}u").as_str())
        }
        _ => panic!("{NEEDED}"),
    };
    build.file(ports.join("rust/heap.c")); // first, as it knows whether the plan is right
    if env::var_os("CARGO_FEATURE_RECORD").is_some() {
        build.file(ports.join("record.c")).file(ports.join("rust/recorder.c"));
    }
    for mechanism in ["tlsf", "budget", "pools"] {
        build.file(root.join(format!("core/{mechanism}.c")));
    }
    build.compile("tautochrone_core");
}

/// The path of a plan as a C string.
fn quoted(plan: &str) -> String {
    assert!(Path::new(plan).is_absolute(), "{PLAN}={plan} must begin with /, as in $PWD/{plan}");
    assert!(Path::new(plan).is_file(), "{PLAN}={plan} is not there; {NEEDED}");
    println!("cargo:rerun-if-changed={plan}");
    format!("{plan:?}")
}
