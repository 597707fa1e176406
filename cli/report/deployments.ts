import type { Command } from 'commander';
import { painterOf } from '../runs/run/words.ts';
import { type AllDeploymentsOptions, withCallTimeout, withExamples } from '../support/command-options.ts';
import { printErr } from '../support/print.ts';
import { plainLine } from '../support/text.ts';
import { fittedTable } from '../support/text-table.ts';
import { documentOfFleet, exitCodeOfFleet, type Fleet, fleetOf } from './fleet.ts';
import { ageText, alarmsText, outcomeOf, rulesText, SIGNS_OF_ALL } from './fleet-words.ts';

const LINES = `
In a pipe: one line for each deployment, separated by tabs: name, outcome (good, bad, open or unknown), what became of its last night or
why it is not known, hours since the oldest of its newest exports was started, raised alarms, release, paused entities,
entities whose rule is gone, entities whose rule was changed.`;

/** Registers `deployments`, which changes nothing. */
export function addDeployments(command: Command): void {
  const described = withCallTimeout(command).option('--json', 'one JSON document').action(deployments);
  withExamples(described, {
    'deployments --profile exports --region eu-central-1': 'which of all agencies have last night',
    'deployments --json': 'the same for a program',
  }).addHelpText('after', LINES);
}

async function deployments(options: AllDeploymentsOptions & { json?: boolean }): Promise<void> {
  const fleet = await fleetOf(options, printErr);
  process.exitCode = exitCodeOfFleet(fleet);
  const text = options.json ? JSON.stringify(documentOfFleet(fleet)) : fleetText(fleet, process.stdout);
  process.stdout.write(`${text}\n`);
}

/** A row for each deployment for a person on a terminal, or a line elsewhere. */
export function fleetText(fleet: Fleet, stream: { isTTY?: boolean; columns?: number }): string {
  const rows = fleet.deployments.map((look) => ({ look, ...outcomeOf(look) }));
  if (!stream.isTTY) return rows.map(({ look, tone, text }) => lineOf(look, tone, text)).join('\n');
  const cells = rows.map(({ look: { deployment, found }, tone, text }) => [
    `${SIGNS_OF_ALL[tone]} ${deployment}`,
    found ? ageText(found) : '',
    found ? alarmsText(found) : '',
    found ? rulesText(found) : '',
    found?.version ?? '',
    plainLine(text),
  ]);
  const { lines, leftOut } = fittedTable(COLUMNS, cells, stream.columns ?? Number.POSITIVE_INFINITY);
  const paint = painterOf(stream);
  const painted = lines.map((line, index) => {
    const { tone = 'open' } = rows[index - 1] ?? {};
    return index === 0 ? line : paint(tone === 'unknown' ? 'warned' : tone)(line);
  });
  const warnings = rows.flatMap(({ look: { deployment, found } }) =>
    (found?.warnings ?? []).map((warning) => `  ${deployment}: ${plainLine(warning)}`),
  );
  const room = leftOut.length > 0 ? ['', `No room for: ${leftOut.join(', ')}; --json has all.`] : [];
  return [...painted, ...(warnings.length > 0 ? ['', ...warnings] : []), ...room].join('\n');
}

const COLUMNS = [
  { name: 'deployment' },
  { name: 'oldest export', optional: 1 },
  { name: 'alarms', optional: 2 },
  { name: 'rules' },
  { name: 'release', optional: 3 },
  { name: 'last night' },
];

function lineOf({ deployment, found }: Fleet['deployments'][number], tone: string, text: string): string {
  const rules = found && [found.paused, found.withoutRule, found.changed].map((entities) => entities.join(','));
  const known = rules && [found.oldest?.hours, found.alarms?.length, found.version, ...rules];
  const cells = [deployment, tone, plainLine(text), ...(known ?? [])];
  return cells
    .map((cell) => cell ?? '')
    .join('\t')
    .trimEnd();
}
