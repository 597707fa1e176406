import { CRM_EXPORT, forDeployment } from '../../core/commands.ts';
import type { Entity } from '../../core/config/entities.ts';
import { adviceFor, type FailedRun, isOurs } from './failed-run.ts';

/** What is said of one cause. */
export interface Mail {
  /** ASCII without line breaks, fewer than 100 characters, as SNS wants it. */
  subject: string;
  /** Plain text. */
  text: string;
}

interface About {
  /** Name of the deployment. */
  deployment: string;
  runbookUrl: string;
  /** Date of the newest file of an entity; `null` where there is none, absent where it could not be read. */
  readers: Map<Entity, string | null>;
}

const MOST_RUNS = 20;
/** Ends that are no error of ours, with their advice; each has its entry in the runbook too. */
export const OTHER_ENDS = {
  TimedOut: 'It reached the time limit of its machine and was stopped: start the run again.',
  AnotherError: 'It ended in an error that is not of the closed list: the command shows it.',
  FailedOnPurpose:
    'Nothing: `verify` made it, with an input that no run accepts. That this mail came shows that such mails come.',
};

/** @param runs which ended in the same error, one at least */
export function mailOf(error: FailedRun['error'], runs: FailedRun[], about: About): Mail {
  const { deployment, runbookUrl } = about;
  const shown = runs.slice(0, MOST_RUNS);
  const advices = shown.map((run) => `What to do: ${isOurs(error) ? adviceFor(run) : OTHER_ENDS[error]}`);
  const common = new Set(advices).size === 1 ? advices.slice(0, 1) : [];
  const [first] = runs;
  const whose = runs.length === 1 ? (first?.batch ?? first?.entity ?? 'a run') : `${runs.length} runs`;
  const more = runs.length > MOST_RUNS ? [`… and ${runs.length - MOST_RUNS} more.`, ''] : [];
  const lines = [
    `${whose} of the deployment ${deployment} ended in ${error}.`,
    '',
    ...common.flatMap((advice) => [advice, '']),
    ...shown.flatMap((run, index) => [...linesOf(run, about, common.length > 0 ? undefined : advices[index]), '']),
    ...more,
    `Runbook: ${runbookUrl}#${error.toLowerCase()}`,
  ];
  return {
    subject: `${deployment}: ${whose} ended in ${error}`.slice(0, 99),
    text: forDeployment(lines.join('\n'), deployment),
  };
}

/** @param advice where it is another for each run */
function linesOf(run: FailedRun, { deployment, readers }: About, advice: string | undefined): string[] {
  const { name, sentence, endedAt, entity, batch } = run;
  const at = `${endedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const command = batch === undefined ? `show "${name}"` : `update-status ${batch}`;
  return [
    `${batch ?? entity ?? 'No entity'}, ${at}, run ${name}`,
    ...(sentence === undefined ? [] : [`  ${sentence}`]),
    ...(advice === undefined ? [] : [`  ${advice}`]),
    ...(entity && batch === undefined ? [`  ${readersText(entity, readers.get(entity))}`] : []),
    `  ${CRM_EXPORT} ${command.replace(/"([\w.-]+)"/, '$1')} --deployment ${deployment}`,
  ];
}

function readersText(entity: Entity, date: string | null | undefined): string {
  if (date === undefined) return `What readers have of ${entity} could not be read.`;
  return date === null ? `Readers have no ${entity} at all.` : `The newest that readers have: ${entity} of ${date}.`;
}

/**
 * The message for each kind of subscription. Amazon Q Developer in chat applications, which subscribes by https, shows no other
 * JSON than this (https://docs.aws.amazon.com/chatbot/latest/adminguide/custom-notifs.html).
 */
export function messageOf({ subject, text }: Mail): string {
  // Nothing that a sentence quotes ends the block, behind which a chat would take it for more than text.
  const description = `\`\`\`\n${text.replaceAll('`', "'")}\n\`\`\``;
  const content = { textType: 'client-markdown', title: subject, description };
  return JSON.stringify({ default: text, https: JSON.stringify({ version: '1.0', source: 'custom', content }) });
}
