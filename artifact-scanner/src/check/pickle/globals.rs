//! Which names a pickle may ask for: a list of what numeric libraries write, and one of what
//! attackers call.
//!
//! The first list decides; the second only tells an evil from an unknown.

/// What is said of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum Standing {
    /// Libraries for data write it, and calling it does nothing.
    Harmless,
    /// `getattr`: harmless where it fetches a member of a harmless class, else not.
    Fetches,
    Unknown,
    /// Runs code, reads or writes files, or reaches the network.
    Evil,
}

/// Modules of which no name is fit for a data file.
const EVIL_MODULES: &str = include_str!("evil_modules.txt");

/// Names that run something whatever module they are taken from.
const EVIL_NAMES: &str = include_str!("evil_names.txt");

/// Names of otherwise mixed modules.
const EVIL_PAIRS: &str = include_str!("evil_pairs.txt");

fn listed(list: &str, name: &str) -> bool {
    list.lines().any(|line| line == name)
}

fn pair_listed(list: &str, module: &str, name: &str) -> bool {
    list.lines().any(|pair| {
        pair.strip_prefix(module)
            .and_then(|rest| rest.strip_prefix('.'))
            == Some(name)
    })
}

fn evil(module: &str, name: &str) -> bool {
    let module = module.strip_prefix("six.moves.").unwrap_or(module);
    EVIL_MODULES.lines().any(|evil| {
        module == evil
            || module
                .strip_prefix(evil)
                .is_some_and(|rest| rest.starts_with('.'))
    }) || name
        .split('.')
        .chain(module.split('.').skip(1))
        .any(|part| {
            listed(EVIL_NAMES, part)
                || matches!(
                    part,
                    "os" | "sys" | "subprocess" | "builtins" | "__builtins__"
                )
        })
        || pair_listed(EVIL_PAIRS, module, name)
}

const BUILTINS: &str = include_str!("builtins.txt");

const HARMLESS: &str = include_str!("harmless.txt");

/// Functions that data keeps by their name, to be called by whoever loaded it.
const KEPT: &str = include_str!("kept.txt");

/// Whether it is one of the functions that are kept and never called while data is loaded.
pub(super) fn is_kept(path: &str) -> bool {
    listed(KEPT, path)
}

/// Whether it is a function of numbers, by the module and the name that are asked for.
pub(super) fn is_ufunc(module: &str, name: &str) -> bool {
    let modules = [
        "numpy",
        "numpy.core.umath",
        "numpy.core._multiarray_umath",
        "numpy._core.umath",
        "numpy._core._multiarray_umath",
        "scipy.special",
        "scipy.special._ufuncs",
    ];
    modules.contains(&module) && listed(include_str!("ufuncs.txt"), name)
}

/// Modules whose classes (names in capitals) are estimators, containers and distributions; to
/// construct one does nothing but keep its arguments.
const CLASS_MODULES: &[&str] = &[
    "sklearn.",
    "scipy.sparse.",
    "scipy.interpolate.",
    "scipy.spatial.",
    "scipy.stats.",
    "scipy.optimize.",
    "pandas.core.arrays.",
    "pandas.core.indexes.",
    "pandas.core.dtypes.",
    "pandas.core.frame.",
    "pandas.core.series.",
    "pandas.core.internals.",
    "pandas._libs.tslibs.",
    "pandas.core.flags.",
    "pandas._libs.interval.",
    "pandas._libs.sparse.",
    "torch.nn.modules.",
    "numpy.dtypes.",
    "numpy.polynomial.",
    "numpy.random.",
];

const CLASS_MODULES_NOT: &[&str] = &[
    "sklearn.externals",
    "sklearn.datasets",
    "sklearn.utils._testing",
    "sklearn.utils.parallel",
    "sklearn.utils._mocking",
    "sklearn.utils.fixes",
    "sklearn.conftest",
    "sklearn.experimental",
    "sklearn.setup",
    "sklearn._build_utils",
    "numpy.random._examples",
    "sklearn.callback",
];

/// What a fit of `scipy.optimize` ends in; its other classes call what they are given.
const OPTIMIZE: [&str; 10] = [
    "BFGS",
    "Bounds",
    "HessianUpdateStrategy",
    "LbfgsInvHessProduct",
    "LinearConstraint",
    "NonlinearConstraint",
    "OptimizeResult",
    "OptimizeWarning",
    "RootResults",
    "SR1",
];

/// Classes that listed modules only import, and that do something when they are constructed, call
/// what they are given, or make a class.
const CLASS_NAMES_NOT: &str = include_str!("foreign.txt");

/// Data by the names that users know.
const PANDAS: [&str; 15] = [
    "Categorical",
    "CategoricalIndex",
    "DataFrame",
    "DatetimeIndex",
    "Index",
    "Interval",
    "IntervalIndex",
    "MultiIndex",
    "Period",
    "PeriodIndex",
    "RangeIndex",
    "Series",
    "Timedelta",
    "TimedeltaIndex",
    "Timestamp",
];

const SCALAR_STORAGE_SUFFIX: &str = "Storage";

fn harmless(module: &str, name: &str) -> bool {
    let is_class = {
        let bare = name.trim_start_matches('_');
        bare.starts_with(|c: char| c.is_ascii_uppercase())
            && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    match module {
        "builtins" => return listed(BUILTINS, name),
        "numpy.core.multiarray"
        | "numpy._core.multiarray"
        | "numpy.core.numeric"
        | "numpy._core.numeric" => {
            return matches!(name, "_reconstruct" | "scalar" | "_frombuffer");
        }
        "numpy.core._multiarray_umath" | "numpy._core._multiarray_umath" => {
            return matches!(
                name,
                "_reconstruct" | "scalar" | "log1p" | "exp" | "log" | "expm1" | "sqrt" | "square"
            );
        }
        "numpy.core" | "numpy._core" => {
            return name == "_ufunc_reconstruct" || name == "_DType_reconstruct";
        }
        "numpy.core._internal" | "numpy._core._internal" => {
            return matches!(name, "_convert_to_stringdtype_kwargs" | "_reconstruct");
        }
        "numpy.ma" => return matches!(name, "MaskedArray" | "_mareconstruct"),
        // Newer versions write the public names.
        "pandas" if name.ends_with("Dtype") && is_class || PANDAS.contains(&name) => return true,
        "torch" if name.ends_with(SCALAR_STORAGE_SUFFIX) => return is_class,
        "torch"
            if matches!(
                name,
                "float"
                    | "double"
                    | "half"
                    | "bfloat16"
                    | "float16"
                    | "float32"
                    | "float64"
                    | "int8"
                    | "int16"
                    | "int32"
                    | "int64"
                    | "uint8"
                    | "bool"
                    | "complex64"
                    | "complex128"
                    | "strided"
                    | "sparse_coo"
                    | "qint8"
                    | "quint8"
                    | "per_tensor_affine"
            ) =>
        {
            return true;
        }
        _ => {}
    }
    if pair_listed(HARMLESS, module, name) || pair_listed(KEPT, module, name) {
        return true;
    }
    if module.starts_with("scipy.optimize") {
        return OPTIMIZE.contains(&name);
    }
    let dotted = format!("{module}.");
    if CLASS_MODULES_NOT.iter().any(|not| module.starts_with(not))
        || !CLASS_MODULES.iter().any(|yes| dotted.starts_with(yes))
    {
        return pandas_offset(module, name);
    }
    let cython = name.starts_with("__pyx_unpickle_");
    let container = module.starts_with("scipy.")
        && (name.ends_with("_matrix")
            || name.ends_with("_array")
            || name.ends_with("_gen")
            || name.ends_with("_frozen"));
    (is_class || cython || container)
        && !listed(CLASS_NAMES_NOT, name)
        && !listed(CLASS_NAMES_NOT, name.trim_start_matches('_'))
}

/// Methods that real data keeps by name.
const METHODS: [&str; 6] = [
    "scipy.interpolate._interpolate.interp1d._call_linear_np",
    "scipy.interpolate._interpolate.interp1d._call_linear",
    "scipy.interpolate._interpolate.interp1d._call_nearest",
    "scipy.interpolate._interpolate.interp1d._call_previousnext",
    "scipy.interpolate._interpolate.interp1d._call_spline",
    "zoneinfo.ZoneInfo._unpickle",
];

/// Whether it is a listed method of the class at the path.
pub(super) fn method(path: &str, name: &str) -> bool {
    METHODS.iter().any(|method| {
        method
            .strip_prefix(path)
            .and_then(|rest| rest.strip_prefix('.'))
            == Some(name)
    })
}

fn pandas_offset(module: &str, name: &str) -> bool {
    module.starts_with("pandas._libs.tslibs")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.contains("unpickle")
}

/// Judges one name. Python 2's module names are read as their successors.
pub(in crate::check) fn standing(module: &str, name: &str) -> Standing {
    let module = match module {
        "__builtin__" | "__builtins__" => "builtins",
        "copy_reg" => "copyreg",
        other => other,
    };
    if module == "builtins" && name == "getattr" {
        return Standing::Fetches;
    }
    // A dot in the name walks from a harmless module to whatever it imports.
    let known = if name.contains('.') {
        method(module, name)
    } else {
        harmless(module, name)
    };
    if known {
        return Standing::Harmless;
    }
    if evil(module, name) {
        Standing::Evil
    } else {
        Standing::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::{Standing, standing};

    #[test]
    fn names_stand_as_they_should() {
        for (module, name, wanted) in [
            ("numpy.core.multiarray", "_reconstruct", Standing::Harmless),
            ("numpy._core.multiarray", "scalar", Standing::Harmless),
            ("sklearn.linear_model._ridge", "Ridge", Standing::Harmless),
            ("__builtin__", "set", Standing::Harmless),
            ("pandas.core.frame", "DataFrame", Standing::Harmless),
            ("torch", "FloatStorage", Standing::Harmless),
            ("builtins", "getattr", Standing::Fetches),
            ("my.module", "Thing", Standing::Unknown),
            ("sklearn.externals.x", "Ridge", Standing::Unknown),
            ("sklearn.utils", "Parallel", Standing::Unknown),
            ("sklearn.callback._transport", "Client", Standing::Unknown),
            ("sklearn.x", "Listener", Standing::Unknown),
            (
                "pandas.core.arrays.arrow.accessors",
                "ABCMeta",
                Standing::Unknown,
            ),
            (
                "scipy.optimize._differentiable_functions",
                "ScalarFunction",
                Standing::Unknown,
            ),
            (
                "sklearn.metrics._classification",
                "f1_score",
                Standing::Harmless,
            ),
            ("scipy.stats._kde", "gaussian_kde", Standing::Harmless),
            ("os", "system", Standing::Evil),
            ("os.path", "join", Standing::Evil),
            ("numpy", "core.os.system", Standing::Evil),
            ("builtins", "eval", Standing::Evil),
            ("__builtin__", "apply", Standing::Evil),
            (
                "numpy.distutils.exec_command",
                "exec_command",
                Standing::Evil,
            ),
            ("somewhere", "Popen", Standing::Evil),
        ] {
            assert_eq!(standing(module, name), wanted, "{module} {name}");
        }
    }
}
