"""Writes pickles of numeric libraries: length (u32), name (24 bytes), bytes, for each."""
import collections, datetime, decimal, io, pickle, struct, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd, scipy.sparse, scipy.stats, scipy.interpolate, joblib
from sklearn import linear_model, ensemble, tree, svm, cluster, decomposition, preprocessing, pipeline, neighbors, naive_bayes
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
D = pd.date_range("2024-01-01", periods=6, tz="Europe/Berlin")
F = pd.DataFrame({"a": range(6), "b": list("xyzxyz"), "c": pd.Categorical(list("uvwuvw")), "d": D, "e": pd.array([1, None, 3, 4, 5, 6], dtype="Int64")})
things = {
    "int": 3, "dict": {"a": [1, 2.5, None, True, b"x", "os.system"]}, "set": {1, 2}, "frozen": frozenset("ab"), "complex": 1j, "range": range(3), "slice": slice(1, 2),
    "ordered": collections.OrderedDict(a=1), "counter": collections.Counter("aab"), "deque": collections.deque([1]), "default": collections.defaultdict(list, a=[1]),
    "datetime": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), "delta": datetime.timedelta(1), "decimal": decimal.Decimal("1.5"),
    "array": X, "f16": X.astype("f2"), "objects": np.array(["a", {"b": 1}], dtype=object), "records": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "scalar": np.float64(3), "masked": np.ma.masked_array([1, 2], [0, 1]), "dates": np.array(["2024-01-01"], "M8[D]"), "dtype": np.dtype("f4"), "strings": np.array(["a", "bc"]),
    "generator": np.random.default_rng(1), "randomstate": np.random.RandomState(1), "ufunc": np.log1p, "matrix": np.matrix([[1]]), "poly": np.poly1d([1, 2]), "polynomial": np.polynomial.Polynomial([1, 2]),
    "frame": F, "series": F["a"], "group": F.set_index(["b", "c"]), "period": pd.period_range("2024-01", periods=3, freq="M"), "stamp": pd.Timestamp("2024-01-01", tz="UTC"), "tdelta": pd.Timedelta("1d"),
    "interval": pd.interval_range(0, 3), "sparse": pd.arrays.SparseArray([0, 0, 1]), "string": pd.Series(["a", None], dtype="string"), "boolean": pd.array([True, None]), "nat": pd.NaT, "na": pd.NA, "offset": pd.offsets.MonthEnd(2), "cut": pd.cut([1, 5, 9], 3),
    "csr": scipy.sparse.csr_matrix(np.eye(3)), "coo": scipy.sparse.coo_matrix(np.eye(3)), "frozen_norm": scipy.stats.norm(0, 1), "interp": scipy.interpolate.interp1d([0, 1], [0, 1]), "spline": scipy.interpolate.CubicSpline([0, 1, 2], [0, 1, 0]),
}
models = [linear_model.LinearRegression(), linear_model.Ridge(), linear_model.LogisticRegression(), linear_model.SGDClassifier(), linear_model.Lasso(), ensemble.RandomForestClassifier(3), ensemble.GradientBoostingClassifier(n_estimators=3),
    ensemble.HistGradientBoostingClassifier(max_iter=3), ensemble.IsolationForest(n_estimators=3), tree.DecisionTreeClassifier(), svm.SVC(), cluster.KMeans(2, n_init=1), cluster.DBSCAN(), decomposition.PCA(2), preprocessing.StandardScaler(), preprocessing.FunctionTransformer(np.log1p),
    neighbors.KNeighborsClassifier(algorithm="kd_tree"), naive_bayes.GaussianNB(), pipeline.make_pipeline(preprocessing.MinMaxScaler(), linear_model.Ridge()), GridSearchCV(linear_model.Ridge(), {"alpha": [1, 2]}, cv=2)]
for model in models:
    things[type(model).__name__[:20] + "*"] = model.fit(abs(X), y)
things["tfidf"] = TfidfVectorizer().fit(["a cat", "the dog"])
def put(name, data):
    sys.stdout.buffer.write(struct.pack("<I", len(data)) + name.encode()[:24].ljust(24) + data)
for name, thing in things.items():
    for protocol in (0, 2, 4, 5):
        try:
            put(f"{name}:{protocol}", pickle.dumps(thing, protocol))
        except TypeError:  # some cannot be written in the oldest protocol
            pass
for name in ("array", "objects", "frame", "Ridge*", "RandomForestClassifi*", "KMeans*", "records"):
    out = io.BytesIO()
    joblib.dump(things[name], out)
    put(f"{name}:joblib", out.getvalue())
