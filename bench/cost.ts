import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENTITIES } from '../core/config/entities.ts';
import { withSection } from '../scripts/generate.ts';
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
      const document = readFileSync(DOCUMENT, 'utf8');
      if (!kit.quick) writeFileSync(DOCUMENT, withSection(DOCUMENT, document, 'runs', costTable(lines)));
      return { runs: lines.map((line) => ({ ...line, dollars: line.dollars.toFixed(3) })), targets: [] };
    }),
  ),
);
