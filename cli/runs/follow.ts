import type { Command } from 'commander';
import { withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { connect } from '../support/target.ts';
import { findRun } from './find-run.ts';
import { type FollowCommandOptions, followToTheEnd } from './follow-runs.ts';

/** Registers `follow`, which changes nothing. */
export function addFollow(command: Command): void {
  command
    .argument('<run>', 'name or ARN of an execution, or an entity: its newest run')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(follow);
  withExamples(command, {
    'follow leads --deployment prod': 'the newest run of leads, under way or ended',
    'follow leads-20261120T020000Z-1a2b3c --deployment prod --json': 'a run by its name, as a document',
  });
}

async function follow(run: string, options: FollowCommandOptions): Promise<void> {
  const target = await connect(options);
  const { entity, name, executionArn } = await findRun(target, run);
  if (entity) return followToTheEnd(target, [{ entity, name, executionArn }], options);
  throw new CommandError(`The input of ${name} names no entity, so there is nothing to follow.`, USAGE);
}
