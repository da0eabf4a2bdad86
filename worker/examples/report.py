"""Revenue by region and quarter from sales.csv: a table, summary.csv and plot.svg. Standard library only."""
import csv
from collections import defaultdict

revenue = defaultdict(lambda: defaultdict(float))
with open("sales.csv", newline="") as file:
    for row in csv.DictReader(file):
        quarter = "Q%d" % ((int(row["date"][5:7]) + 2) // 3)
        revenue[row["region"]][quarter] += int(row["units"]) * float(row["unit_price"])

quarters = sorted({q for by_quarter in revenue.values() for q in by_quarter})
print("%-8s" % "region" + "".join("%12s" % q for q in quarters) + "%12s" % "total")
with open("summary.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["region", *quarters, "total"])
    for region, by_quarter in sorted(revenue.items()):
        row = [by_quarter[q] for q in quarters]
        print("%-8s" % region + "".join("%12.2f" % v for v in [*row, sum(row)]))
        out.writerow([region, *("%.2f" % v for v in [*row, sum(row)])])

totals = {region: sum(by_quarter.values()) for region, by_quarter in sorted(revenue.items())}
scale = 300 / max(totals.values())
bars = []
for i, (region, total) in enumerate(totals.items()):
    y = 20 + 40 * i
    bars.append(f'<text x="10" y="{y + 18}">{region}</text>'
                f'<rect x="70" y="{y}" width="{total * scale:.1f}" height="26" fill="#3b7dd8"/>'
                f'<text x="{78 + total * scale:.1f}" y="{y + 18}">{total:.0f}</text>')
with open("plot.svg", "w") as file:
    file.write('<svg xmlns="http://www.w3.org/2000/svg" width="460" height="%d" '
               'font-family="sans-serif" font-size="14">%s</svg>\n' % (30 + 40 * len(totals), "".join(bars)))
print("grand total %.2f" % sum(totals.values()))
