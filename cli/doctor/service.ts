import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type CrmClient, createCrmClient } from '../../core/crm/client.ts';
import { type Field, readFields } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { RUN_FAILED } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { type Check, failed, failedBy, ok, warning } from './check.ts';
import { columnsChecks } from './columns.ts';
import type { Configured } from './configuration.ts';
import { driftChecks, newestManifest } from './drift.ts';

interface ServiceOptions {
  now: () => Date;
  /** Then a refusal is final; else a run would refresh first. */
  refreshed: boolean;
  refreshCommand: string;
  /** Whose newest published exports are compared with. */
  target: Pick<Target, 's3' | 'BucketName'>;
}

/** The CRM refused a valid token; without `--refresh` it is not refreshed. */
class TokenRefused extends Error {}

/** Reads the columns of all entities, with one token and without refreshing it. */
export async function serviceChecks(known: Configured, tokens: Tokens, options: ServiceOptions): Promise<Check[]> {
  const crm = clientWith(known, tokens, options);
  const checks: Check[] = [];
  const started = performance.now();
  for (const entity of ENTITIES) {
    try {
      const fields = await readFields(crm, entity);
      if (known.file) checks.push(...(await entityChecks(known, known.file, { entity, fields }, options)));
    } catch (error) {
      if (error instanceof TokenRefused) return [refused(options.refreshCommand)];
      // The same for all entities: reported once, and not waited for again.
      if (error instanceof RunError && error.transient) return [failedBy('service', error), ...checks];
      checks.push(ofRule(known, entity, failedBy(`columns.${entity}`, error)));
    }
  }
  const each = Math.round((performance.now() - started) / ENTITIES.length);
  const service = ok('service', `It answers at ${known.crm.baseUrl} (${each} ms per list of fields).`);
  // That the bucket cannot be read is the same for all entities.
  const once = new Map(checks.map((check) => [check.id, check])).values();
  return [service, ...once, ...unknownPlans(known)];
}

async function entityChecks(
  configured: Configured,
  file: Deployment,
  { entity, fields }: { entity: Entity; fields: Field[] },
  { target, now }: ServiceOptions,
): Promise<Check[]> {
  const { last, checks } = await newestManifest(target, entity);
  const listed = { entity, fields, last };
  const columns = columnsChecks(file, listed);
  const known = columns.every(({ status }) => status !== 'failed');
  const drift = known ? [...checks, ...driftChecks(file, listed, dateIn(file.timeZone, now()))] : [];
  return [...columns, ...drift].map((check) => ofPlan(configured, entity, check));
}

/** A plan that is not deployed cannot fail a night. */
function ofPlan(known: Configured, entity: Entity, check: Check): Check {
  if (check.status === 'ok' || !known.unknownPlans.includes(entity)) return ofRule(known, entity, check);
  return warning(check.id, `${check.text} (By the file; another plan is deployed.)`, check.advice ?? '');
}

function unknownPlans({ unknownPlans: entities }: Configured): Check[] {
  if (entities.length === 0) return [];
  const text = `Whether the CRM has the columns that are deployed is not known for ${entities.join(', ')}.`;
  return [warning('columns', text, 'Look with the configuration that was deployed: --configuration FILE.')];
}

function clientWith({ crm }: Configured, { accessToken, scope }: Tokens, options: ServiceOptions): CrmClient {
  return createCrmClient({
    baseUrl: crm.baseUrl,
    getAccessToken: async ({ rejected } = {}) => {
      if (rejected === undefined) return { accessToken, scope };
      if (!options.refreshed) throw new TokenRefused();
      throw new RunError('AuthRefused', 'The CRM answers 401 to a token that it gave out just now.');
    },
    log: { info: () => undefined, error: () => undefined },
    now: options.now,
  });
}

function refused(refreshCommand: string): Check {
  const text =
    'The CRM refuses the stored access token before its end (401), as it does where the grant was withdrawn; the lists of fields were not read.';
  const advice = `A run would refresh it first; to see now whether that works, add --refresh: ${refreshCommand}.`;
  return failed('service', text, advice, RUN_FAILED);
}

/** What does not run every night cannot fail a night; of a plan that is not known, it may run. */
function ofRule({ file, unknownPlans }: Configured, entity: Entity, check: Check): Check {
  if (check.status === 'ok' || !file || unknownPlans.includes(entity)) return check;
  if (file.entities[entity].enabled) return check;
  return warning(check.id, `${check.text} (Its nightly rule is switched off.)`, check.advice ?? '');
}
