"""The same report with pandas and matplotlib: a table, summary.csv and plot.png."""
import matplotlib.pyplot as plt
import pandas as pd

sales = pd.read_csv("sales.csv", parse_dates=["date"])
sales["revenue"] = sales["units"] * sales["unit_price"]
quarter = sales["date"].dt.to_period("Q").astype(str)
table = sales.groupby(["region", quarter])["revenue"].sum().unstack(fill_value=0)
table["total"] = table.sum(axis=1)
print(table.to_string())
table.to_csv("summary.csv")

table["total"].plot.barh(title="Revenue by region")
plt.tight_layout()
plt.savefig("plot.png")
print("grand total", round(sales["revenue"].sum(), 2))
