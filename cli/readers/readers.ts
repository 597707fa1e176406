import { type Command, Option } from 'commander';
import type { Reader } from '../../core/config/reader-settings.ts';
import { readerName } from '../../core/readers/readers.ts';
import { commandFor, withExamples } from '../support/command-options.ts';
import { begun } from '../support/completed.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { commandToTry, policyOf, sharedPlace } from './reader-policy.ts';
import { readerText } from './reader-words.ts';
import { tagPublished } from './tag-published.ts';

interface ReadersOptions extends TargetOptions {
  tag?: boolean;
  json?: boolean;
}

/** Registers `readers`. */
export function addReaders(command: Command): void {
  command
    .argument('[principal]', 'account, ARN of a role or organization, as `readers` of the configuration names it')
    .addOption(
      new Option(
        '--tag',
        'let readers of files have what was published before the configuration named them; runs tag what they publish themselves',
      ),
    )
    .option('--json', 'one JSON document: every reader with its policy')
    .action(readers);
  withExamples(command, {
    'readers --deployment prod': 'who may read what',
    'readers 444455556666 --deployment prod > policy.json': 'the policy that a role in that account needs',
    'readers --tag --deployment prod': 'once, after a deployment that shares files for the first time',
  });
}

async function readers(principal: string | undefined, options: ReadersOptions): Promise<void> {
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  // An earlier release knew no readers.
  const { readers: all = [] } = deployed;
  if (options.tag && principal === undefined) {
    const files = await tagPublished(target, { readers: all }, printErr);
    return options.json ? printJson({ tagged: files }) : printOut(`${manyText(files, 'published file')} tagged.`);
  }
  if (options.tag) throw new CommandError('--tag is for all readers: leave out the principal.', USAGE);
  const chosen = principal === undefined ? all : named(all, principal);
  if (!options.json && principal === undefined) return printOut(listOf(all, options));
  const place = await sharedPlace(target);
  const described = [...Map.groupBy(chosen, readerName)].map(([name, reads]) => {
    return { principal: name, reads, policy: policyOf(reads, deployed, place), try: commandToTry(reads, place) };
  });
  if (options.json) return printJson({ readers: described });
  for (const { reads, policy, try: command } of described) {
    for (const reader of reads)
      printErr(`${begun(readerText(reader))}, once its own account allows it by this policy too.`);
    printOut(JSON.stringify(policy, null, 2));
    printErr(`To try it there: ${command}`);
  }
}

function listOf(all: Reader[], options: ReadersOptions): string {
  const [first] = all;
  if (!first) return 'Nobody: the configuration names no readers.';
  const policy = `The policy that their account needs: ${commandFor(`readers ${readerName(first)}`, options)}`;
  return [...all.map((reader) => `${begun(readerText(reader))}.`), policy].join('\n');
}

/** @throws CommandError (exit code 2) with those that there are */
function named(all: Reader[], principal: string): Reader[] {
  const found = all.filter((reader) => readerName(reader) === principal);
  if (found.length > 0) return found;
  const known = all.length === 0 ? 'the configuration names none' : `there are ${all.map(readerName).join(', ')}`;
  throw new CommandError(`There is no reader ${principal}: ${known}.`, USAGE);
}
