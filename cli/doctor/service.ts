import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type CrmClient, createCrmClient } from '../../core/crm/client.ts';
import { type Field, readFields } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { about, asRemark, broken, type Finding, holds, unknown } from '../checks/finding.ts';
import { findingOf } from '../checks/finding-of.ts';
import type { Target } from '../support/target.ts';
import { changedColumns, newestManifest } from './changed-columns.ts';
import { columnsFindings } from './columns.ts';
import type { Configured } from './configuration.ts';

interface AskOptions {
  now: () => Date;
  /** The token was refreshed: then a refusal is final, else a run would refresh first. */
  refreshed: boolean;
  refreshCommand: string;
  /** The deployment whose newest published exports are compared with. */
  target: Pick<Target, 's3' | 'BucketName'>;
}

/** What comes of asking the CRM for the columns of all entities. */
export interface Asked {
  service: Finding;
  columns: Finding[];
}

/** The CRM refused a valid token; without `--refresh` it is not refreshed. */
class TokenRefused extends Error {}

/** Reads the columns of all entities, with one token and without refreshing it. */
export async function askCrm(known: Configured, tokens: Tokens, options: AskOptions): Promise<Asked> {
  const crm = clientWith(known, tokens, options);
  const columns: Finding[] = [];
  const started = performance.now();
  for (const entity of ENTITIES) {
    try {
      const fields = await readFields(crm, entity);
      if (known.file) columns.push(...(await entityFindings(known, known.file, { entity, fields }, options)));
    } catch (error) {
      if (error instanceof TokenRefused) return { service: refused(options.refreshCommand), columns: [] };
      // A transient error is the same for all entities: it is reported once, and not waited for again.
      if (error instanceof RunError && error.transient) return { service: findingOf(error), columns };
      columns.push(ofRule(known, entity, about(entity, findingOf(error))));
    }
  }
  const each = Math.round((performance.now() - started) / ENTITIES.length);
  const service = holds(`It answers at ${known.crm.baseUrl} (${each} ms per list of fields).`);
  // A bucket that cannot be read is reported once: it is the same for all entities.
  const once = new Map(columns.map((finding) => [finding.of, finding])).values();
  return { service, columns: [...once, ...unknownPlans(known)] };
}

async function entityFindings(
  configured: Configured,
  file: Deployment,
  { entity, fields }: { entity: Entity; fields: Field[] },
  { target, now }: AskOptions,
): Promise<Finding[]> {
  const { last, findings } = await newestOrWhyNot(target, entity);
  const listed = { entity, fields, last };
  const columns = columnsFindings(file, listed);
  const isKnown = columns.every(({ verdict }) => verdict !== 'broken');
  const changed = isKnown ? [...findings, ...changedColumns(file, listed, dateIn(file.timeZone, now()))] : [];
  return [...columns, ...changed].map((finding) => ofPlan(configured, entity, finding));
}

/** Columns are judged also where the newest export cannot be read. */
async function newestOrWhyNot(target: AskOptions['target'], entity: Entity) {
  try {
    return { last: await newestManifest(target, entity), findings: [] };
  } catch (error) {
    return { last: undefined, findings: [about('changed', asRemark(findingOf(error)))] };
  }
}

/** A plan that is not deployed cannot fail a night. */
function ofPlan(known: Configured, entity: Entity, finding: Finding): Finding {
  if (!known.unknownPlans.includes(entity)) return ofRule(known, entity, finding);
  return asRemark(finding, ' (By the file; another plan is deployed.)');
}

/** What does not run every night cannot fail a night; of a plan that is not known, it may run. */
function ofRule({ file, unknownPlans }: Configured, entity: Entity, finding: Finding): Finding {
  if (!file || unknownPlans.includes(entity) || file.entities[entity].enabled) return finding;
  return asRemark(finding, ' (Its nightly rule is switched off.)');
}

function unknownPlans({ unknownPlans: entities }: Configured): Finding[] {
  if (entities.length === 0) return [];
  const why = `Whether the CRM has the columns that are deployed is not known for ${entities.join(', ')}.`;
  return [unknown(why, 'Look with the configuration that was deployed: --configuration FILE.')];
}

function clientWith({ crm }: Configured, { accessToken, scope }: Tokens, options: AskOptions): CrmClient {
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

function refused(refreshCommand: string): Finding {
  const text =
    'The CRM refuses the stored access token before its end (401), as it does where the grant was withdrawn; the lists of fields were not read.';
  return broken(text, `A run would refresh it first; to see now whether that works, add --refresh: ${refreshCommand}.`);
}
