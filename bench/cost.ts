import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENTITIES } from '../core/config/entities.ts';
import { runOf, withSession } from './bench-session.ts';
import { benchmark } from './kit.ts';
import { costOfRuns, costTable, type Usage, usageOf } from './night-cost.ts';

/**
 * `npm run bench:cost`: computes the cost of a month from the usage of a real night in the local cloud: all entities
 * once, ten status requests and 10 MB each, multiplied by list prices. It writes the table into docs/cost.md.
 */

const NIGHT = { jobChecks: 10, bytes: 10_000_000 };
const QUICK_NIGHT = { jobChecks: 1, bytes: 100_000 };
const DOCUMENT = join(import.meta.dirname, '..', 'docs', 'cost.md');

await benchmark((kit) =>
  withSession(kit, kit.quick ? QUICK_NIGHT : NIGHT, (session) =>
    kit.experiment('cost', 'A night of seven runs', async () => {
      // One after the other, so that durations do not include waits for this machine's CPU. The first round warms up.
      const usages: Usage[] = [];
      for (const entity of ENTITIES) await runOf(session, entity);
      for (const entity of ENTITIES) {
        usages.push(await usageOf(session.target, (await runOf(session, entity)).executionArn));
      }
      const lines = costOfRuns(usages);
      if (!kit.quick) await intoDocument(costTable(lines));
      return { runs: lines.map((line) => ({ ...line, dollars: line.dollars.toFixed(3) })), targets: [] };
    }),
  ),
);

async function intoDocument(table: string): Promise<void> {
  const document = await readFile(DOCUMENT, 'utf8');
  const marked = /(?<=<!-- tables -->\n)[\s\S]*(?=<!-- end of tables -->)/;
  if (!marked.test(document)) throw new Error(`${DOCUMENT} has no place for the tables.`);
  await writeFile(
    DOCUMENT,
    document.replace(marked, () => `\n${table}\n\n`),
  );
}
