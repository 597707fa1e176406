import { type BatchManifest, noCounts, type ResultLine } from '../../../../core/batch/batch-results.ts';
import { keysOf } from '../../../../core/batch/batch-store.ts';
import { batchManifest } from '../../../support/batches.ts';
import { deployment } from '../../../support/builders.ts';
import { runCli } from '../run-cli.ts';
import { type Answers, answerOf, type Handler, refused } from './answers.ts';
import { aws } from './cloud.ts';
import { arnOf, configured, stack, UPDATES_MACHINE } from './stack.ts';
import type { Part, World } from './world.ts';

/** The result of a line: the parts that differ from an applied one. */
type LineOutcome = (line: number, batch: string) => Partial<ResultLine>;

interface Options {
  lineOutcome?: LineOutcome;
  /** Whether the deployed configuration allows null, at the time of reading. */
  allowNull?: boolean;
  /** The number of status requests before the execution ends. */
  looks?: number;
  /** The error in which the machine ends without a summary. */
  crash?: { error: string; cause: string };
  /** The machine ends in `crash` before it claims the batch. */
  refuses?: boolean;
  /** The end of a machine in seconds; default: some days ago. */
  endedAt?: number;
}

interface Batch {
  name: string;
  batch: string;
  input: string;
  looks: number;
  /** The start in seconds. */
  startedAt: number;
}

/** The local deployment with customer updates, and the started batches by name. */
export async function updatingCloud(options: Options = {}, ...faults: Answers[]) {
  const batches = new Map<string, Batch>();
  const template: Handler = (call) => {
    const { allowNull = false } = options;
    return answerOf(call, [configured({ updates: { ...deployment().updates, allowNull } })]);
  };
  const parts = [
    stack({ UpdatesStateMachineArn: UPDATES_MACHINE }),
    { GetTemplate: template },
    updates(options, batches),
  ];
  const cloud = await aws(...faults, ...parts);
  const place = ['--deployment', 'local', '--endpoint-url', cloud.endpoint];
  return { ...cloud, batches, place, cli: (...args: string[]) => runCli(...args, ...place) };
}

const STARTED = 1_795_000_000;
const APPLIED = { outcome: 'APPLIED', error: null, status: 200, attempts: 1, at: '2026-11-20T02:00:01.000Z' } as const;
const runOf = (name: string) => arnOf(name, UPDATES_MACHINE);

/**
 * The machine of customer updates. It gives outcomes by line number, half of them at the first status request.
 * @param batches the started executions, by batch
 */
function updates(
  { lineOutcome = () => ({}), looks = 2, crash, refuses = false, endedAt = STARTED + 10 }: Options,
  batches: Map<string, Batch>,
): Part {
  const late = new Map<string, string>();
  return ({ objects }) => ({
    StartExecution: ({ input: asked }) => {
      const name = String(asked.name);
      const input = String(asked.input);
      const batch = String(JSON.parse(input).file).split('/')[1] ?? '';
      // Another execution has claimed the batch.
      if (batches.has(batch)) late.set(runOf(name), input);
      else {
        batches.set(batch, { name, batch, input, looks, startedAt: STARTED + batches.size });
        if (refuses) return { executionArn: runOf(name), startDate: STARTED };
        objects.set(`updates/${batch}/_started.json`, Buffer.from(JSON.stringify({ execution: name })));
      }
      return { executionArn: runOf(name), startDate: STARTED };
    },
    DescribeExecution: ({ input: { executionArn } }) => {
      const lateInput = late.get(String(executionArn));
      if (lateInput) {
        const taken = { status: 'FAILED', error: 'UpdateAlreadyStarted', cause: 'It belongs to another execution.' };
        return { executionArn, startDate: STARTED, stopDate: STARTED, input: lateInput, ...taken };
      }
      const batch = [...batches.values()].find(({ name }) => runOf(name) === executionArn);
      if (!batch) return refused('ExecutionDoesNotExist');
      if (refuses) batch.looks = 0;
      if (!isOver(batch)) advance(batch, objects, { lineOutcome, crashes: crash !== undefined });
      return { ...described(batch, objects, { crash, endedAt }), input: batch.input };
    },
    ListExecutions: () => ({
      executions: [...batches.values()].toReversed().map((batch) => described(batch, objects, { crash, endedAt })),
    }),
  });
}

const isOver = ({ looks }: Batch) => looks <= 0;

/** Advances by one status request: half of the results, then all. */
function advance(
  execution: Batch,
  objects: World['objects'],
  { lineOutcome, crashes }: { lineOutcome: LineOutcome; crashes: boolean },
): void {
  execution.looks -= 1;
  const folder = `updates/${execution.batch}`;
  const input = objects.get(`${folder}/input.jsonl`)?.toString() ?? '';
  const results = resultsOf(input, (line) => lineOutcome(line, execution.batch));
  const half = Math.ceil(results.length / 2);
  const part = (number: number, lines: ResultLine[]) => {
    objects.set(`${folder}/results/chunk-0001.00000${number}.begun.json`, Buffer.from('{}'));
    objects.set(`${folder}/results/chunk-0001.00000${number}.jsonl`, linesText(lines));
  };
  if (!crashes || execution.looks > 0) part(1, results.slice(0, half));
  if (!isOver(execution) || crashes) return;
  part(2, results.slice(half));
  objects.set(`${folder}/result.jsonl`, linesText(results));
  objects.set(`${folder}/_manifest.json`, Buffer.from(JSON.stringify(manifestOf(execution.batch, results))));
}

function described(
  batch: Batch,
  objects: World['objects'],
  { crash, endedAt }: { crash: Options['crash']; endedAt: number },
) {
  const common = { executionArn: runOf(batch.name), name: batch.name, startDate: batch.startedAt };
  if (!isOver(batch)) return { ...common, status: 'RUNNING' };
  const result = objects.get(`updates/${batch.batch}/result.jsonl`);
  const whole = result && !/"(REJ|FAIL|UNK|NOT)/.test(result.toString());
  const failure = crash ?? { error: 'UpdatesIncomplete', cause: 'Some lines were not applied.' };
  return { ...common, stopDate: endedAt, ...(whole ? { status: 'SUCCEEDED' } : { status: 'FAILED', ...failure }) };
}

function resultsOf(input: string, lineOutcome: (line: number) => Partial<ResultLine>): ResultLine[] {
  return input.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    return [{ line: index + 1, id: String(JSON.parse(line).id), ...APPLIED, ...lineOutcome(index + 1) }];
  });
}

function linesText(results: ResultLine[]): Buffer {
  return Buffer.from(results.map((result) => `${JSON.stringify(result)}\n`).join(''));
}

function manifestOf(batch: string, results: ResultLine[]): BatchManifest {
  const counts = noCounts();
  for (const { outcome } of results) counts[outcome] += 1;
  const { input, result } = batchManifest();
  const { length: records } = results;
  const keys = keysOf(batch);
  return batchManifest({
    ...{ batch, execution: batch, counts },
    input: { ...input, key: keys.input, lines: records, records },
    result: { ...result, key: keys.result },
  });
}
