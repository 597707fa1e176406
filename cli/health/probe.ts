import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { type AccessToken, createGetAccessToken } from '../../core/oauth/access-token.ts';
import { isUntried, newestTokenSet, tokenFreshness } from '../../core/oauth/grant.ts';
import { packageVersion } from '../../core/package-version.ts';
import { RetryableError, TransferError } from '../../transfer/base/transfer-errors.ts';
import { watchClock } from '../access/aws-clock.ts';
import { describeError as endOf } from '../support/aws-error.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, INTERRUPTED, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { painterOf, printableLine, SIGNS } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { withExtraKeys } from './doctor-configuration.ts';
import { FIRST_RUN, grantDeps } from './grant-checks.ts';
import { type Call, callSchema, makeCalls, type Probe, pointSchema, pointsOf } from './probe-calls.ts';

interface ProbeOptions extends TargetOptions {
  configuration?: string;
  entity?: Entity;
  json?: boolean;
}

/** The document of `--json`. It contains the shapes of answers, and no values. */
export const probeReportSchema = z.strictObject({
  ok: z.boolean().check(z.describe('Whether the command ends with exit code 0.')),
  at: z.iso.datetime(),
  release: z.string().check(z.describe('Release of the checkout that ran the command.')),
  host: z.string().check(z.describe('Host of crm.baseUrl.')),
  entity: z.nullable(z.string()).check(z.describe('The entity that was exported.')),
  ended: z.nullable(z.string()).check(z.describe('Why the probe ended early.')),
  points: z.array(pointSchema),
  calls: z.array(callSchema),
});

/** `probe`: calls the CRM with the grant of a deployment, and compares its answers with the assumptions (docs/adr/0027). */
export async function probe(options: ProbeOptions): Promise<void> {
  const target = await connect(options);
  const { deployment, unknown } = withExtraKeys(options, await deployedConfiguration(target));
  const { host } = new URL(deployment.crm.baseUrl);
  const print = options.json ? printErr : printOut;
  const { ended, ...made } = await untilInterrupted(
    'Interrupted before the first call of the probe.',
    async (signal) => {
      // A refresh spends the stored refresh token, so Ctrl-C waits until the new token is stored.
      const token = await storedToken(target, deployment.crm);
      signal.throwIfAborted();
      print(`The probe makes each call to the CRM at ${host} once, and exports one column.`);
      if (unknown.length > 0) {
        const what = `The extra keys of ${unknown.join(', ')} are not sent, because this machine has no file with them`;
        print(`${what}: name the deployed configuration with --configuration FILE.`);
      }
      const made: Probe = {
        ...{ deployment, token, wanted: options.entity, signal, calls: [], notes: {} },
        sleep: (ms) => sleep(ms, undefined, { signal }),
        onCall: (call) => print(lineOf(call)),
      };
      return Object.assign(made, { ended: await endOfProbe(made) });
    },
  );
  const points = pointsOf(made.notes, made.entity);
  const code = ended?.code ?? (points.some(({ verdict }) => verdict === 'different') ? RUN_FAILED : 0);
  if (options.json) {
    const { calls, entity = null } = made;
    const about = { ok: code === 0, at: new Date().toISOString(), release: packageVersion(), host, entity };
    const report: z.infer<typeof probeReportSchema> = { ...about, ended: ended?.sentence ?? null, points, calls };
    printJson(report);
  } else for (const line of linesOf(points)) printOut(line);
  if (ended) throw new CommandError(ended.sentence, ended.code, { documented: options.json === true });
  process.exitCode = code;
}

const NOT_FETCHED =
  'The CRM made the export, but its file could not be fetched. Run probe again. If it ends in the same way, ask the operator of the CRM who may fetch the address that it gives for a file.';

/**
 * Runs the probe, and returns an error instead of throwing it, so that the observations are printed.
 * @returns why it ended early, if it did
 */
async function endOfProbe(made: Probe) {
  try {
    await makeCalls(made);
    return undefined;
  } catch (error) {
    if (made.signal.aborted) return { sentence: 'Interrupted. The probe made no further calls.', code: INTERRUPTED };
    if (error instanceof RetryableError) return { sentence: `${error.message} ${NOT_FETCHED}`, code: RUN_FAILED };
    if (error instanceof TransferError) return { sentence: error.message, code: RUN_FAILED };
    return endOf(error);
  }
}

/**
 * The stored access token. Refreshes and stores a due token as a run does; throws if a function must refresh it first.
 * @throws RunError of the grant, such as `ReauthorizationRequired`; CommandError
 */
async function storedToken(target: Target, crm: Deployment['crm']): Promise<AccessToken> {
  const { now } = watchClock(target.secrets);
  const deps = grantDeps(target, crm, now);
  const { tokens } = await newestTokenSet(deps.store);
  if (!isUntried(tokens)) return createGetAccessToken(deps)();
  if (tokenFreshness(tokens, now()) !== 'stale') return tokens;
  const what = `The access token has expired (${tokens.expiresAt}), and no function has refreshed the grant yet`;
  throw new CommandError(`${what}. The CRM was not called. Start a run, which refreshes it: ${FIRST_RUN}`, RUN_FAILED);
}

function lineOf({ call, status, milliseconds, mediaType, shape, code }: Call): string {
  const answered = [status, mediaType, code].filter(Boolean).join(' ');
  return `  ${printableLine(`${call} -> ${answered} ${shape} (${milliseconds} ms)`)}`;
}

const TONES = { 'as assumed': 'good', different: 'bad', 'not checked': 'idle' } as const;

/** One line per point, with the setting to change if a run fails. */
function linesOf(points: ReturnType<typeof pointsOf>): string[] {
  const paint = painterOf(process.stdout);
  const widest = Math.max(...points.map(({ id }) => id.length));
  return points.map(({ id, verdict, what, setting }) => {
    const advice = setting === null ? '' : ` Setting: ${setting}.`;
    const tone = TONES[verdict];
    return `${paint(tone)(SIGNS[tone])} ${id.padEnd(widest)}  ${verdict}: ${printableLine(what)}${advice}`;
  });
}
