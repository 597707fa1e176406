import { Command, CommanderError } from 'commander';
import { RunError } from '../lambdas/shared/errors.ts';
import { ConfigurationError } from '../lib/config.ts';
import { addAuthorize } from './authorize-command.ts';
import { awsTrouble } from './aws-trouble.ts';
import { withTarget } from './command-options.ts';
import { addCompletion } from './completion-command.ts';
import { addDoctor } from './doctor.ts';
import { addDownload } from './download.ts';
import { CommandError, codeOf, ENVIRONMENT, USAGE } from './exit.ts';
import { addFollow } from './follow-command.ts';
import { addList } from './list.ts';
import { addLogs } from './logs-command.ts';
import { addPause, addResume } from './pause-command.ts';
import { addReport } from './report.ts';
import { addRetry } from './retry-command.ts';
import { say } from './say.ts';
import { addShow } from './show.ts';
import { addStart } from './start-command.ts';
import { addStop } from './stop-command.ts';
import { addUpdate } from './update-command.ts';
import { addUpdateStatus } from './update-status-command.ts';

/** In the order of the help. */
const COMMANDS = {
  start: addStart,
  follow: addFollow,
  list: addList,
  show: addShow,
  logs: addLogs,
  download: addDownload,
  report: addReport,
  retry: addRetry,
  stop: addStop,
  pause: addPause,
  resume: addResume,
  authorize: addAuthorize,
  doctor: addDoctor,
  update: addUpdate,
  'update-status': addUpdateStatus,
};

/** The program with all its commands. */
export function createProgram(): Command {
  const program = new Command('npm run cli --').description("The operator's command");
  program.exitOverride().showHelpAfterError('To see all options and examples, add --help.');
  for (const [name, add] of Object.entries(COMMANDS)) add(withTarget(program.command(name)));
  addCompletion(program);
  return program;
}

interface Ended {
  sentence: string;
  code: number;
  /** It is told already: by the help, or in the document of `--json`. */
  told?: boolean;
}

/** Every end in one sentence, with a code by its class. */
function ended(error: unknown): Ended {
  if (error instanceof CommanderError) return { sentence: error.message, code: error.exitCode === 0 ? 0 : USAGE };
  if (error instanceof CommandError) return { sentence: error.message, code: error.exitCode, told: error.documented };
  if (error instanceof ConfigurationError)
    return { sentence: error.message.replace(/^/gm, 'ConfigInvalid: '), code: USAGE };
  if (error instanceof RunError)
    return { sentence: awsTrouble(error) ?? `${error.name}: ${error.failure.cause}`, code: codeOf(error) };
  const other = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { sentence: awsTrouble(error) ?? other, code: ENVIRONMENT };
}

/**
 * Runs a command line.
 * @returns the exit code
 */
export async function main(args: string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    const { sentence, code, told } = ended(error);
    if (!(error instanceof CommanderError)) say(sentence);
    const document = { ok: false, error: sentence };
    if (code !== 0 && !told && args.includes('--json')) process.stdout.write(`${JSON.stringify(document)}\n`);
    return code;
  }
}

if (import.meta.main) {
  // Who reads a pipe may have read enough (`| head`): what the command does goes on to its end.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    say(`Standard output took no more (${error.code ?? error.name}).`);
    process.exitCode = ENVIRONMENT;
  });
  process.stderr.on('error', () => undefined);
  process.exitCode = await main(process.argv.slice(2));
}
