import type { Deployment } from '../../core/config/deployment.ts';
import { packageVersion } from '../../core/package-version.ts';
import { type ProbeReport, probeKey } from '../../core/probe/probe-report.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { ended as endOf } from '../support/ended.ts';
import { CommandError, INTERRUPTED, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import type { Target } from '../support/target.ts';
import type { Ended } from './conversation/converse.ts';
import type { Probed } from './probe.ts';
import { linesOf } from './screen.ts';
import { type Setting, settingsFor, toPaste } from './settings.ts';
import { type FileBefore, writeSettings } from './write.ts';

interface ReportOptions {
  all?: boolean;
  json?: boolean;
}

interface Met {
  deployment: Deployment;
  /** Where the settings are to be written. */
  before: FileBefore | undefined;
  /** Whose bucket keeps the report. */
  savesIn: Pick<Target, 's3' | 'BucketName'> | undefined;
}

/**
 * Prints what was seen, and writes and saves what is wanted of it.
 * @returns the exit code
 * @throws CommandError with the sentence by which the meeting ended, or why something was not written
 */
export async function report(
  probed: Probed,
  { deployment, before, savesIn }: Met,
  options: ReportOptions,
): Promise<void> {
  const { sightings, ended, conversation } = probed;
  const code = exitCodeOf(probed);
  const { exchanges } = conversation;
  const isOfUse = exchanges.some(({ step }) => step === 'create') || sightings.some(({ means }) => means !== undefined);
  if (ended && !isOfUse) throw new CommandError(ended.sentence, ended.code);
  const settings = settingsFor(conversation, deployment);
  const document = documentOf(probed, code === 0, deployment, toPaste(settings, deployment));
  if (!options.json) for (const line of linesOf(sightings, process.stdout, options.all)) printOut(line);
  // Who interrupts wants no more than to see what there is.
  const goesOn = code !== INTERRUPTED;
  const failure = await failureOf(async () => {
    if (savesIn && goesOn) await save(document, savesIn);
    if (before && goesOn) tellWritten(before, settings);
  });
  if (options.json) printJson({ ...document, ok: document.ok && !failure, ended: failure?.sentence ?? document.ended });
  else if (!before || !goesOn || failure) tellSettings(document.settings);
  const end = failure ?? ended;
  if (end) throw new CommandError(end.sentence, end.code, { documented: options.json === true });
  process.exitCode = code;
}

/** The CRM was asked, which nobody repeats lightly: what fails behind it does not keep back what was seen. */
async function failureOf(work: () => Promise<void>): Promise<Ended | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return endOf(error);
  }
}

/** 0: nothing is otherwise that a run would fail by; 1: something is; else that of what ended the meeting. */
function exitCodeOf({ sightings, ended }: Probed): number {
  if (ended) return ended.code;
  return sightings.some(({ means }) => means === 'code' || means === 'setting') ? RUN_FAILED : 0;
}

function documentOf(
  { sightings, conversation, ended }: Probed,
  ok: boolean,
  { crm }: Deployment,
  settings: Record<string, unknown>,
): ProbeReport {
  return {
    ...{ ok, at: new Date().toISOString(), release: packageVersion(), host: new URL(crm.baseUrl).host },
    ended: ended?.sentence ?? null,
    sightings: sightings.map(({ means = null, ...one }) => ({ ...one, means })),
    calls: conversation.exchanges.map(({ step: _, entity: __, trouble: ___, code: ____, ...call }) => call),
    settings,
  };
}

async function save(document: ProbeReport, { s3, BucketName }: NonNullable<Met['savesIn']>): Promise<void> {
  const key = probeKey(document);
  await createBucket(s3, BucketName).putOnce(key, JSON.stringify(document));
  printErr(`Saved as s3://${BucketName}/${key}.`);
}

function tellWritten(before: FileBefore, settings: Setting[]): void {
  const lines = writeSettings(before, settings);
  const nothing = lines.length === 0;
  printErr(nothing ? `${before.file} has all that was seen.` : `Written into ${before.file}, for the next deployment:`);
  for (const line of lines) printErr(`  ${line}`);
}

function tellSettings(settings: Record<string, unknown>): void {
  if (Object.keys(settings).length === 0) return;
  printOut('Settings that fit what was seen, for the configuration file (--write puts them there):');
  printOut(JSON.stringify(settings, null, 2));
}
