import type { Entity } from '../../../core/config/entities.ts';
import { eachTarget, exitCodeOfAll, type Look, warnOf } from '../../support/all-deployments.ts';
import { ENVIRONMENT } from '../../support/exit.ts';
import { colorsFor, plainLine } from '../../support/text.ts';
import type { Run } from '../run/run.ts';
import { type ListOptions, sinceArgument } from './list-options.ts';
import { listRuns } from './list-runs.ts';
import { legendOf, runsText } from './runs-text.ts';

type Shown = { since: Date; failed: boolean; running: boolean };

/** `list` of every deployment: `--limit` counts for each. */
export async function listAll(entities: Entity[], options: ListOptions): Promise<void> {
  const { since = sinceArgument('7d'), failed = false, running = false, all = false, limit } = options;
  const looks = await eachTarget(options, (target, deployment) => {
    const { TimeZone: timeZone } = target;
    return listRuns(target, { entities, since, failed, running, all, limit, timeZone, warn: warnOf(deployment) });
  });
  process.exitCode = exitCodeOfAll(looks.map(({ found }) => (found === null ? ENVIRONMENT : 0)));
  const document = () => ({
    deployments: looks.map(({ deployment, found, why }) => ({ deployment, why, runs: found })),
  });
  const shown = { since, failed, running };
  process.stdout.write(`${options.json ? JSON.stringify(document()) : looksText(looks, process.stdout, shown)}\n`);
}

/** The runs below the name of their deployment, or, elsewhere than on a terminal, behind it on each line. */
export function looksText(looks: Look<Run[]>[], stream: { isTTY?: boolean; columns?: number }, shown: Shown): string {
  const colors = colorsFor(stream);
  const texts = looks.map(({ deployment, found, why }) => {
    if (stream.isTTY) {
      return `${colors.bold(deployment)}\n${found ? runsText(found, stream, { ...shown, legend: false }) : colors.yellow(`  Not known: ${plainLine(why)}`)}\n`;
    }
    if (!found) return `${deployment}\tunknown\t${plainLine(why)}`;
    return found.map((run) => `${deployment}\t${runsText([run], stream, shown)}`).join('\n');
  });
  const legend = stream.isTTY ? legendOf(looks.flatMap(({ found }) => found ?? [])) : [];
  return [...texts, ...legend].filter(Boolean).join('\n').trimEnd();
}
