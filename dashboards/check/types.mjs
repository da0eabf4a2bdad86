// Writes the dashboards as TypeScript that Grafana's own types judge, and a wrong one that they must refuse.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, out] = process.argv.slice(2);
const grafana = join(folder, 'grafana');
const names = readdirSync(grafana);
const boards = names.map((name, n) => {
  const board = readFileSync(join(grafana, name), 'utf8');
  return `// ${name}\nexport const board${n} = ${board.trim()} satisfies Dashboard;`;
});
const first = JSON.parse(readFileSync(join(grafana, names[0]), 'utf8'));
first.panels[1].gridPos.x = 'left';
// JSON has the words of an enumeration, and no enumeration.
const head = `import type { AnnotationQuery, Dashboard as Typed, Panel, RowPanel } from '@grafana/schema';
type Plain<T> = T extends string ? \`\${T}\` : T extends (infer U)[] ? Plain<U>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Annotation = Plain<Omit<AnnotationQuery, 'target'>> & { target: { refId: string; expr: string; legendFormat: string } };
type Dashboard = Plain<Omit<Typed, 'panels' | 'annotations'>> & { annotations: { list: Annotation[] } }
  & { panels: (Plain<Panel> | Plain<RowPanel>)[] };
`;
writeFileSync(join(out, 'good.ts'), head + boards.join('\n'));
writeFileSync(join(out, 'bad.ts'), `${head}export const bad = ${JSON.stringify(first)} satisfies Dashboard;\n`);
