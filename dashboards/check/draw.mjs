// Draws every dashboard from a Prometheus as one page, so that a person can look at what Grafana would show.
//
// usage: node draw.mjs DASHBOARDS PROMETHEUS-URL OUT [SECONDS]   writes OUT/<dashboard>.html
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [folder, prometheus, out, span = '180'] = process.argv.slice(2);
const WIDTH = 1440, CELL = 30, GAP = 8;
const PALETTE = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#B8A800', '#888888'];
// A dash too, so that a colour is never all that tells two lines apart.
const DASHES = ['solid', 'solid', 'solid', 'solid', 'dashed', 'dashed', 'dashed', 'dotted'];
const echarts = readFileSync(createRequire(import.meta.url).resolve('echarts/dist/echarts.min.js'), 'utf8');

const end = Math.floor(Date.now() / 1000), start = end - Number(span);
const step = Math.max(1, Math.round(Number(span) / 180));

async function ask(path, words) {
  const answer = await fetch(`${prometheus}/api/v1/${path}?${new URLSearchParams(words)}`);
  const body = await answer.json();
  if (body.status !== 'success') throw new Error(`${words.query}: ${body.error}`);
  return body.data.result;
}

const plain = expr => expr.replaceAll('$__rate_interval', '15s').replaceAll(/\$(instance|profile|class)/g, '.*');

function legend(target, metric) {
  if (!target.legendFormat || target.legendFormat === '__auto') return Object.values(metric).join(' ');
  return target.legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '').trim();
}

const none = panel => `<p class="none">${panel.fieldConfig.defaults.noValue}</p>`;

async function data(panel) {
  const series = [];
  for (const target of panel.targets) {
    const query = plain(target.expr);
    const found = target.instant
      ? (await ask('query', { query, time: end })).map(it => ({ ...it, values: [it.value] }))
      : await ask('query_range', { query, start, end, step });
    for (const { metric, values } of found) {
      const points = values.map(([at, value]) => [at * 1000, Number(value)]).filter(([, value]) => Number.isFinite(value));
      series.push({ name: legend(target, metric), column: target.legendFormat, metric, points });
    }
  }
  return series.filter(it => it.points.length > 0);
}

/** A timeseries has a point where there is none: a gap, not a line over it. */
function withGaps(points) {
  return points.flatMap((point, n) => (n > 0 && point[0] - points[n - 1][0] > 2500 * step ? [[point[0] - 1, null], point] : [point]));
}

const UNITS = {
  s: v => (v === 0 ? '0 s' : v < 1e-3 ? `${round(v * 1e6)} µs` : v < 1 ? `${round(v * 1e3)} ms` : v < 120 ? `${round(v)} s` : v < 7200 ? `${round(v / 60)} min` : v < 172800 ? `${round(v / 3600)} h` : `${round(v / 86400)} d`),
  bytes: v => (v < 1024 ? `${round(v)} B` : v < 1048576 ? `${round(v / 1024)} KiB` : v < 1073741824 ? `${round(v / 1048576)} MiB` : `${round(v / 1073741824)} GiB`),
  binBps: v => `${UNITS.bytes(v)}/s`, percentunit: v => `${round(v * 100)} %`, ops: v => `${round(v)}/s`, short: v => (v >= 1e6 ? `${round(v / 1e6)} M` : v >= 1e4 ? `${round(v / 1e3)} k` : `${round(v)}`),
};
const round = v => (Math.abs(v) >= 100 ? Math.round(v) : Number(v.toPrecision(3)));
const unit = panel => UNITS[panel.fieldConfig.defaults.unit] ?? UNITS.short;

function color(panel, value) {
  const steps = panel.fieldConfig.defaults.thresholds.steps;
  return steps.filter(it => it.value === null || value >= it.value).at(-1)?.color ?? PALETTE[0];
}

const escaped = text => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function stat(panel, series) {
  if (series.length === 0) return none(panel);
  return `<div class="stats">${series.slice(0, 4).map(({ name, points }) => {
    const value = points.at(-1)[1];
    return `<div class="stat" style="color:${color(panel, value)}"><b>${escaped(unit(panel)(value))}</b><i>${escaped(name)}</i></div>`;
  }).join('')}</div>`;
}

function table(panel, series) {
  if (series.length === 0) return none(panel);
  const columns = panel.targets.map(it => it.legendFormat), rows = new Map();
  for (const { column, metric, points } of series) {
    const labels = Object.fromEntries(Object.entries(metric).filter(([name]) => !['__name__', 'job'].includes(name)));
    const key = JSON.stringify(labels);
    rows.set(key, { ...(rows.get(key) ?? { labels }), [column]: points.at(-1)[1] });
  }
  const labels = [...new Set([...rows.values()].flatMap(it => Object.keys(it.labels)))];
  const head = [...labels, ...columns].map(it => `<th>${escaped(it)}</th>`).join('');
  const body = [...rows.values()].map(row => `<tr>${labels.map(it => `<td>${escaped(row.labels[it] ?? '')}</td>`).join('')}${
    columns.map(it => `<td class="n">${it in row ? escaped(round(row[it])) : ''}</td>`).join('')}</tr>`).join('');
  return `<table><tr>${head}</tr>${body}</table>`;
}

function states(panel, series) {
  if (series.length === 0) return none(panel);
  const words = panel.fieldConfig.defaults.mappings[0].options;
  return `<div class="states">${series.slice(0, 9).map(({ name, points }) => {
    const bars = [];
    for (const [at, value] of points) {
      const word = words[String(value)] ?? { text: String(value), color: '#888' }, last = bars.at(-1);
      if (last && last.word === word && at - last.to < 2500 * step) last.to = at;
      else bars.push({ word, from: at, to: at });
    }
    const share = at => ((at / 1000 - start) / (end - start)) * 100;
    return `<span>${escaped(name)}</span><div class="bar">${bars.map(({ word, from, to }) => {
      const wide = Math.max(share(to) - share(from) + 100 / ((end - start) / step), 0.6);
      return `<em style="left:${share(from)}%;width:${wide}%;background:${word.color}">${wide > 6 ? escaped(word.text) : ''}</em>`;
    }).join('')}</div>`;
  }).join('')}</div>`;
}

function chart(panel, series) {
  const { custom, min, max, thresholds } = panel.fieldConfig.defaults;
  const stacked = custom.stacking.mode === 'normal', log = custom.scaleDistribution.type === 'log';
  const fixed = Object.fromEntries(panel.fieldConfig.overrides.map(it => [it.matcher.options, it.properties[0].value.fixedColor]));
  // What is stacked needs a value wherever another has one.
  const moments = [...new Set(series.flatMap(it => it.points.map(([at]) => at)))].sort((a, b) => a - b);
  const filled = points => { const at = new Map(points); return moments.map(moment => [moment, at.get(moment) ?? 0]); };
  const lines = thresholds.steps.filter(it => it.value !== null && custom.thresholdsStyle.mode === 'line');
  // Lines that the legend takes.
  const wordy = Math.ceil(series.slice(0, 10).reduce((sum, it) => sum + it.name.length * 6 + 34, 0) / (panel.gridPos.w * (WIDTH / 24) - 40));
  return {
    panel: panel.fieldConfig.defaults.unit,
    option: {
      animation: false, color: PALETTE, textStyle: { fontFamily: 'sans-serif' },
      grid: { left: 62, right: 14, top: 10, bottom: 30 + 16 * wordy },
      legend: { bottom: 0, type: 'plain', itemWidth: 16, itemHeight: 8, textStyle: { fontSize: 11 }, data: series.slice(0, 10).map(it => it.name) },
      xAxis: { type: 'time', min: start * 1000, max: end * 1000, axisLabel: { fontSize: 10, hideOverlap: true }, splitNumber: 4 },
      yAxis: { type: log ? 'log' : 'value', min: log ? undefined : min, max, axisLabel: { fontSize: 10 }, splitNumber: 4, interval: max === 1 ? 0.25 : undefined },
      series: series.map(({ name, points }, n) => ({
        name, type: 'line', showSymbol: points.length < 3, symbolSize: 4, data: withGaps(stacked ? filled(points) : log ? points.filter(([, v]) => v > 0) : points),
        itemStyle: name in fixed ? { color: fixed[name] } : undefined,
        stack: stacked ? 'all' : undefined, areaStyle: stacked ? { opacity: 0.7 } : undefined,
        lineStyle: { width: stacked ? 0 : 1.5, type: DASHES[n % DASHES.length] },
        markLine: n === 0 && lines.length > 0 ? {
          symbol: 'none', silent: true, label: { show: false },
          data: lines.map(it => ({ yAxis: it.value, lineStyle: { color: it.color, type: 'dashed', width: 1 } })),
        } : undefined,
      })),
    },
  };
}

async function page(board) {
  let html = '', tall = 0;
  const charts = [];
  for (const panel of board.panels) {
    const { x, y, w, h } = panel.gridPos, cell = WIDTH / 24;
    const place = `left:${x * cell + GAP / 2}px;top:${y * CELL + 50}px;width:${w * cell - GAP}px;height:${h * CELL - GAP}px`;
    tall = Math.max(tall, (y + h) * CELL + 60);
    if (panel.type === 'row') { html += `<h2 style="${place}">${escaped(panel.title)}</h2>`; continue; }
    const series = await data(panel);
    const body = { stat, table, 'state-timeline': states }[panel.type]?.(panel, series);
    if (body === undefined && series.length > 0) charts.push({ id: panel.id, ...chart(panel, series) });
    html += `<section style="${place}"><h3>${escaped(panel.title)}</h3><p class="asks">${escaped(panel.description)}</p>`
      + (body ?? (series.length > 0 ? `<div class="chart" id="p${panel.id}"></div>` : none(panel))) + '</section>';
  }
  const units = `const round=${round};const UNITS={${Object.entries(UNITS).map(([name, make]) => `${name}:${make}`).join(',')}};`;
  return { tall, html: `<!doctype html><meta charset="utf-8"><title>${escaped(board.title)}</title><style>
body{margin:0;width:${WIDTH}px;height:${tall}px;position:relative;background:#f4f5f5;font:13px sans-serif;color:#222}
h1{font-size:18px;margin:0;padding:12px}h1 small{font-weight:normal;color:#555;margin-left:10px}
h2{position:absolute;margin:0;font-size:14px;line-height:24px}
section{position:absolute;background:#fff;border:1px solid #ddd;border-radius:3px;box-sizing:border-box;padding:6px;overflow:hidden;display:flex;flex-direction:column}
h3{font-size:13px;margin:0}.asks{margin:1px 0 2px;color:#666;font-size:11px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.chart{flex:1;min-height:0}.none{color:#888;margin:auto}.stats{display:flex;flex:1;align-items:center;justify-content:space-around}
.stat{text-align:center}.stat b{display:block;font-size:24px}.stat i{font-style:normal;font-size:11px;color:#555}
table{border-collapse:collapse;width:100%;font-size:12px}td,th{padding:3px 6px;border-bottom:1px solid #eee;text-align:left}.n{text-align:right}
.states{display:grid;grid-template-columns:max-content 1fr;gap:4px 8px;align-items:center;margin:auto 0;font-size:11px}
.bar{position:relative;height:16px;background:#eee}.bar em{position:absolute;height:16px;font-style:normal;color:#fff;font-size:10px;line-height:16px;text-indent:4px;overflow:hidden}
</style><h1>${escaped(board.title)}<small>${escaped(board.description)}</small></h1>${html}
<script>${echarts}</script><script>${units}
for (const { id, panel, option } of ${JSON.stringify(charts).replaceAll('<', '\\u003c')}) {
  option.yAxis.axisLabel.formatter = UNITS[panel] ?? UNITS.short;
  echarts.init(document.getElementById('p' + id), null, { renderer: 'svg' }).setOption(option);
}</script>` };
}

mkdirSync(out, { recursive: true });
for (const name of readdirSync(join(folder, 'grafana'))) {
  const board = JSON.parse(readFileSync(join(folder, 'grafana', name), 'utf8'));
  const { tall, html } = await page(board);
  writeFileSync(join(out, `${board.uid}.html`), html);
  console.log(`${board.uid} ${WIDTH} ${tall}`);
}
