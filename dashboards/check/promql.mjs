// Does every expression of the dashboards and rules parse by Prometheus' own grammar, and is a wrong one found?
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);

/** Where an expression is wrong, if it is. */
function fault(expr) {
  // What Grafana fills in is a duration and a text.
  const plain = expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(instance|profile|class)/g, '.*');
  let at = null;
  parser.parse(plain).iterate({ enter: node => { if (node.type.isError) at ??= node.from; } });
  return at === null ? null : `${plain.slice(0, at)}<here>${plain.slice(at)}`;
}

const grafana = join(folder, 'grafana');
const panels = readdirSync(grafana)
  .flatMap(name => JSON.parse(readFileSync(join(grafana, name), 'utf8')).panels)
  .flatMap(panel => (panel.targets ?? []).map(target => [panel.title, target.expr]));
const rules = [...readFileSync(join(folder, 'rules/kiln.yml'), 'utf8').matchAll(/^ +expr: (".*")$/gm)]
  .map(([, text]) => ['a rule', JSON.parse(text)]);
const wrong = [...panels, ...rules].map(([title, expr]) => [title, fault(expr)]).filter(([, at]) => at);
for (const [title, at] of wrong) console.error(`${title}: ${at}`);
if (fault('sum(rate(kiln_jobs_total[5m])') === null) {
  console.error('an expression without its bracket is taken: nothing is checked');
  process.exit(1);
}
if (panels.length < 50 || rules.length < 50) {
  console.error(`only ${panels.length} queries of panels and ${rules.length} rules were found`);
  process.exit(1);
}
console.log(`${panels.length} queries of panels and ${rules.length} rules parse`);
process.exit(wrong.length === 0 ? 0 : 1);
