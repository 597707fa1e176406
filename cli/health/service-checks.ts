import {
  chooseColumns,
  compareColumns,
  type LastColumns,
  lastColumnsOf,
  publishedColumns,
} from '../../core/columns/columns.ts';
import { labelsOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type CrmClient, createCrmClient } from '../../core/crm/crm-client.ts';
import { type Field, readFields } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import { planFor } from '../../core/export/plan.ts';
import { buildRequest } from '../../core/export/request.ts';
import { folded } from '../../core/folded.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { createManifests, ifReadable } from '../data/stored-manifests.ts';
import type { Target } from '../support/target.ts';
import type { Configured } from './doctor-configuration.ts';
import { about, asRemark, broken, type Finding, findingOf, holds, unknown, warning } from './health-check.ts';

interface AskOptions {
  now: () => Date;
  /** Whether the token was refreshed: then a 401 is final, otherwise a run would refresh first. */
  refreshed: boolean;
  refreshCommand: string;
  /** The deployment with the newest published exports to compare with. */
  target: Pick<Target, 's3' | 'BucketName'>;
}

/** Results of reading the columns of all entities from the CRM. */
export interface Asked {
  service: Finding;
  columns: Finding[];
}

/** The columns that the CRM lists for an entity now, and those of its newest export. */
interface Listed {
  entity: Entity;
  fields: Field[];
  last: LastColumns;
}

/** The CRM refused a token that should be valid; doctor refreshes it only with `--refresh`. */
class TokenRefused extends Error {}

/** Reads the columns of all entities, with one token and without a refresh. */
export async function askCrm(known: Configured, tokens: Tokens, options: AskOptions): Promise<Asked> {
  const { deployment } = known;
  const crm = clientWith(deployment, tokens, options);
  const columns: Finding[] = [];
  const started = performance.now();
  for (const entity of ENTITIES) {
    try {
      const fields = await readFields(crm, entity);
      columns.push(...(await entityFindings(known, { entity, fields }, options)));
    } catch (error) {
      if (error instanceof TokenRefused) return { service: refused(options.refreshCommand), columns: [] };
      // A transient error concerns all entities: it is reported once and not retried for each.
      if (error instanceof RunError && error.transient) return { service: findingOf(error), columns };
      columns.push(ofRule(deployment, entity, about(entity, findingOf(error))));
    }
  }
  const each = Math.round((performance.now() - started) / ENTITIES.length);
  const service = holds(`It answers at ${deployment.crm.baseUrl} (${each} ms per list of fields).`);
  // An unreadable bucket concerns all entities, so it is reported once.
  const once = new Map(columns.map((finding) => [finding.of, finding])).values();
  return { service, columns: [...once, ...unknownParts(known)] };
}

async function entityFindings(
  known: Configured,
  { entity, fields }: { entity: Entity; fields: Field[] },
  { target, now }: AskOptions,
): Promise<Finding[]> {
  const { deployment, file, changed } = known;
  const { last, findings } = await newestOrWhyNot(target, entity);
  const ofPlan = (settings: Deployment) => {
    const listed = { entity, fields, last };
    const columns = columnsFindings(settings, listed);
    if (columns.some(({ verdict }) => verdict === 'broken')) return columns;
    return [...columns, ...findings, ...changedColumns(settings, listed, dateIn(settings.timeZone, now()))];
  };
  const planned = file && changed.includes(entity) ? ofPlan(file) : [];
  return [...ofPlan(deployment).map((finding) => asKnown(known, entity, finding)), ...planned.flatMap(ofFile)];
}

/** Checks columns and request by the rules of a run. */
export function columnsFindings(deployment: Deployment, { entity, fields, last }: Listed): Finding[] {
  const plan = deployment.entities[entity];
  try {
    const { requested, warnings } = chooseColumns(planFor(plan, { entity }), fields, last);
    buildRequest({ entity }, plan, deployment.crm, requested);
    const advice = 'The next run warns of it in its manifest: correct the configuration if that is not meant.';
    const text =
      plan.columns === 'all'
        ? `All ${requested.length} columns that the CRM lists are exported.`
        : `${requested.length} of ${fields.length} columns are exported; all of them exist.`;
    return [
      about(entity, holds(text)),
      ...(warnings.length > 0 ? [about(`${entity}.except`, warning(warnings.join(' '), advice))] : []),
      ...labelFindings(`${entity}.labels`, labelsOf(plan), fields),
    ];
  } catch (error) {
    return [about(entity, findingOf(error))];
  }
}

function labelFindings(of: string, labels: ReturnType<typeof labelsOf>, fields: Field[]): Finding[] {
  const isListed = (value: string) => fields.some(({ name }) => folded(name) === folded(value));
  const strange = Object.entries(labels).filter(([, value]) => value !== null && !isListed(value));
  if (strange.length === 0) return [];
  const named = strange.slice(0, 10).map(([text, value]) => `"${value}" (for "${text}")`);
  const text = `columns.labels names columns that the CRM does not list: ${named.join(', ')}.`;
  return [about(of, warning(text, 'Their texts name nothing in the header of a file: correct or remove them.'))];
}

/**
 * Compares the columns that the CRM lists with those of the newest published export, by the rules of a run. Returns no
 * finding if they are equal, accepted or cannot be compared, because no run fails then.
 * @param date of the run that a person would start
 */
function changedColumns(deployment: Deployment, { entity, fields, last }: Listed, date: string): Finding[] {
  if (!publishedColumns(last)) return [];
  const of = `${entity}.changed`;
  const plan = deployment.entities[entity];
  try {
    const planned = planFor(plan, { entity, date });
    const { warnings } = compareColumns(planned, fields, chooseColumns(planned, fields, last), last);
    const advice = 'The next run exports them as they are, and its manifest says so: tell the readers of the files.';
    return warnings.length > 0 ? [about(of, warning(warnings.join(' '), advice))] : [];
  } catch (error) {
    return [about(of, findingOf(error))];
  }
}

/** Findings about the plan of the file, as warnings: a plan that is not deployed fails no night. */
function ofFile(finding: Finding): Finding[] {
  if (finding.verdict === 'holds') return [];
  return [about(`file.${finding.of}`, asRemark(finding, ' (By the file, which is not deployed.)'))];
}

/** The newest columns, or a finding why they cannot be read. The columns of the CRM are checked in both cases. */
async function newestOrWhyNot(target: AskOptions['target'], entity: Entity) {
  try {
    return { last: await newestColumns(target, entity), findings: [] };
  } catch (error) {
    return { last: undefined, findings: [about('changed', asRemark(findingOf(error)))] };
  }
}

/** The columns of the newest published export; `undefined` if there is none or it cannot be read. */
async function newestColumns(target: Pick<Target, 's3' | 'BucketName'>, entity: Entity) {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
  const manifest = pointer && (await ifReadable(manifests.manifest(pointer.manifestKey), unreadable));
  return manifest && lastColumnsOf(manifest);
}

/** Turns a finding into a warning if the filters and extra keys of the plan are unknown: column rules need them too. */
function asKnown({ deployment, unknown }: Configured, entity: Entity, finding: Finding): Finding {
  if (!unknown.includes(entity)) return ofRule(deployment, entity, finding);
  return asRemark(finding, ' (Its deployed filters or extra keys are not known here.)');
}

/** Turns a finding into a warning if the nightly rule is off: the entity cannot fail a night then. */
function ofRule(deployment: Deployment, entity: Entity, finding: Finding): Finding {
  return deployment.entities[entity].enabled ? finding : asRemark(finding, ' (Its nightly rule is switched off.)');
}

function unknownParts({ unknown: entities }: Configured): Finding[] {
  if (entities.length === 0) return [];
  const why = `What the deployed filters and extra keys ask of the CRM is not known for ${entities.join(', ')}: the file does not have them.`;
  return [unknown(why, 'Look with the configuration that was deployed: --configuration FILE.')];
}

function clientWith({ crm }: Deployment, { accessToken, scope }: Tokens, options: AskOptions): CrmClient {
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
  return broken(text, `A run would refresh it first; to see now whether that works: ${refreshCommand}.`);
}
