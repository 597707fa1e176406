import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { ENTITIES, type Entity, entitySchema } from '../lambdas/shared/entities.ts';
import { RunError } from '../lambdas/shared/errors.ts';
import { suggestion } from '../lambdas/shared/suggestion.ts';
import { ConfigurationError } from '../lib/config.ts';
import { addAuthorize } from './authorize-command.ts';
import { movedText } from './bytes-text.ts';
import { addDoctor } from './doctor.ts';
import { followRun, startRun } from './executions.ts';
import { CommandError, codeOf, ENVIRONMENT, RUN_FAILED, USAGE } from './exit.ts';
import { watchFile } from './file-progress.ts';
import { connect, type TargetOptions } from './target.ts';
import { addUpdate } from './update-command.ts';
import { addUpdateStatus } from './update-status-command.ts';

interface StartOptions extends TargetOptions {
  wait?: boolean;
  date?: string;
}

/** As often as the function that moves a file tells how far it is. */
const LOOK_AT_FILE_EVERY_MS = 5_000;

const print = (line: string) => process.stdout.write(`${line}\n`);

function withTarget(command: Command): Command {
  return command
    .addOption(new Option('--deployment <name>', 'the deployment, as in config/NAME.json').makeOptionMandatory())
    .option('--profile <name>', 'AWS profile to use')
    .option('--region <name>', 'AWS region of the stack')
    .option('--endpoint-url <url>', 'a local cloud instead of AWS; also from AWS_ENDPOINT_URL');
}

function entityArgument(text: string): Entity {
  const entity = entitySchema.safeParse(text);
  if (entity.success) return entity.data;
  throw new InvalidArgumentError(
    `There is no entity "${text}"${suggestion(text, ENTITIES)}; there are ${ENTITIES.join(', ')}.`,
  );
}

async function start(entity: Entity, options: StartOptions): Promise<void> {
  const target = await connect(options);
  const executionArn = await startRun(target, entity, options.date ? { date: options.date } : {});
  print(executionArn);
  if (!options.wait) return;
  let shown = '';
  const report = await followRun(target.sfn, entity, executionArn, {
    fileProgress: watchFile(target, { everyMs: LOOK_AT_FILE_EVERY_MS }),
    onProgress: ({ state, checks, ...file }) => {
      const facts = [`${entity}: ${state}`, checks === 1 ? '1 check' : `${checks} checks`, movedText(file)];
      const line = facts.filter((fact) => fact !== '').join(', ');
      if (state && line !== shown) print(line);
      shown = line;
    },
  });
  if (report.status !== 'SUCCEEDED')
    throw new CommandError(`${report.error ?? report.status}: ${report.cause ?? 'no cause was given.'}`, RUN_FAILED);
  print(`${entity}: published, ${report.rows ?? 'uncounted'} rows, ${report.bytes} bytes, ${report.key}`);
}

function dateArgument(text: string): string {
  if (z.iso.date().safeParse(text).success) return text;
  throw new InvalidArgumentError('A date that exists, such as 2026-11-20.');
}

const program = new Command('cli').description("The operator's command").exitOverride().showHelpAfterError();
withTarget(program.command('start').description('start a run, as a nightly rule would'))
  .argument('<entity>', ENTITIES.join(', '), entityArgument)
  .option('--date <YYYY-MM-DD>', 'the logical date; default: today in the time zone of the deployment', dateArgument)
  .option('--wait', 'follow the run to its end; Ctrl-C stops following, not the run')
  .action(start);
addAuthorize(withTarget(program.command('authorize')));
addDoctor(withTarget(program.command('doctor')));
addUpdate(withTarget(program.command('update')));
addUpdateStatus(withTarget(program.command('update-status')));

/** Every end in one sentence, with a code by its class. */
function ended(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  if (error instanceof CommandError) return said(error.message, error.exitCode);
  if (error instanceof ConfigurationError) return said(error.message.replace(/^/gm, 'ConfigInvalid: '), USAGE);
  if (error instanceof RunError) return said(`${error.name}: ${error.failure.cause}`, codeOf(error));
  return said(error instanceof Error ? `${error.name}: ${error.message}` : String(error), ENVIRONMENT);
}

function said(sentence: string, code: number): number {
  process.stderr.write(`${sentence}\n`);
  return code;
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = ended(error);
}
