import { type Command, Option } from 'commander';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { entitiesArgument, numberArgument, withExamples } from '../../support/command-options.ts';
import { printErr } from '../../support/print.ts';
import { connect } from '../../support/target.ts';
import { type ListOptions, sinceArgument } from './list-options.ts';
import { listRuns } from './list-runs.ts';
import { runsText } from './runs-text.ts';

const limitArgument = numberArgument('A whole number from 1 to 99999.', 1, 99_999);
const LINES = `
In a pipe: one line for each run, separated by tabs: start, entity, date, outcome, seconds, rows, bytes, standing, run, warnings, and why a run waits.
What is empty at the end of a line is left out.`;

/** Registers `list`, which changes nothing. */
export function addList(command: Command): void {
  const described = command
    .argument('[entity...]', `only these: ${ENTITIES.join(', ')}`, entitiesArgument)
    .option('--since <time>', 'how far back: 12h, 7d, 2w or a date; default: 7d', (text) => sinceArgument(text))
    .addOption(new Option('--failed', 'only runs that ended in anything but success').conflicts('running'))
    .option('--running', 'only runs that are under way')
    .option('--limit <number>', 'only so many, the newest', limitArgument)
    .option('--json', 'one JSON document')
    .action(list);
  withExamples(described, {
    'list --deployment prod': 'the last seven days',
    'list leads customers --since 2026-11-01 --deployment prod': 'two entities since a date',
    'list --running --deployment prod': 'what goes on right now',
    'list --failed --since 30d --deployment prod': 'what went wrong within a month',
  }).addHelpText('after', LINES);
}

async function list(entities: Entity[] = [], options: ListOptions): Promise<void> {
  const target = await connect(options);
  const { TimeZone: timeZone } = target;
  const { since = sinceArgument('7d'), failed = false, running = false, limit } = options;
  const runs = await listRuns(target, { entities, since, failed, running, limit, timeZone, warn: printErr });
  const text = options.json ? JSON.stringify({ runs }) : runsText(runs, process.stdout, { since, failed, running });
  if (text !== '') process.stdout.write(`${text}\n`);
}
