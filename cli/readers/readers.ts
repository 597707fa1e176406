import { type Command, Option } from 'commander';
import type { Reader } from '../../core/config/reader-settings.ts';
import { kindOf, readerName } from '../../core/readers/readers.ts';
import { withExamples } from '../support/command-options.ts';
import { begun } from '../support/completed.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { commandToTry, policyOf, sharedPlace } from './reader-policy.ts';
import { tagPublished } from './tag-published.ts';

interface ReadersOptions extends TargetOptions {
  tag?: boolean;
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
    .action(readers);
  withExamples(command, {
    'readers 444455556666 --deployment prod > policy.json': 'the policy that a role in that account needs',
    'readers --tag --deployment prod': 'once, after a deployment that shares files for the first time',
  });
}

async function readers(principal: string | undefined, options: ReadersOptions): Promise<void> {
  if (options.tag && principal !== undefined) {
    throw new CommandError('--tag is for all readers: leave out the principal.', USAGE);
  }
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  // An earlier release knew no readers.
  const { readers: all = [] } = deployed;
  if (options.tag) {
    const files = await tagPublished(target, { readers: all }, printErr);
    return printOut(`${manyText(files, 'published file')} tagged.`);
  }
  const reads = named(all, principal);
  const place = await sharedPlace(target);
  for (const reader of reads) {
    printErr(`${begun(readerText(reader))}, once its own account allows it by this policy too.`);
  }
  printOut(JSON.stringify(policyOf(reads, deployed, place), null, 2));
  printErr(`To try it there: ${commandToTry(reads, place)}`);
}

/** @throws CommandError (exit code 2) with those that there are */
function named(all: Reader[], principal: string | undefined): Reader[] {
  const found = all.filter((reader) => readerName(reader) === principal);
  if (found.length > 0) return found;
  const names = [...new Set(all.map(readerName))].join(', ');
  const known = all.length === 0 ? 'the configuration names no readers' : `there are ${names}`;
  const wrong = principal === undefined ? 'Name a reader, or add --tag' : `There is no reader ${principal}`;
  throw new CommandError(`${wrong}: ${known}.`, USAGE);
}

/** Who may read what, without its dot. */
function readerText(reader: Reader): string {
  const { principal, entities, of } = reader;
  const which = entities === 'all' ? 'all entities' : entities.join(', ');
  return `the ${kindOf(principal)} ${readerName(reader)} may read ${of.join(' and ')} of ${which}`;
}
