import { chooseColumns, compareColumns, type LastColumns, lastColumnsOf } from '../../core/columns/columns.ts';
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
import { about, asRemark, broken, type Finding, findingOf, holds, unknown, warning } from './check.ts';
import type { Configured } from './doctor-configuration.ts';

/** Findings about the CRM: whether it answers, and whether its columns fit the configuration and the last export. */

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
  /** Of the run that a person would start. */
  date: string;
  fields: Field[];
  last: LastColumns;
}

/** The CRM refused a token that should be valid; doctor refreshes it only with `--refresh`. */
class TokenRefused extends Error {}

/** Reads the columns of all entities, with one token and without a refresh. */
export async function askCrm(known: Configured, tokens: Tokens, options: AskOptions): Promise<Asked> {
  const { deployment, unknown: entities } = known;
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
      columns.push(softened(known, about(entity, findingOf(error)), entity));
    }
  }
  const each = Math.round((performance.now() - started) / ENTITIES.length);
  const service = holds(`It answers at ${deployment.crm.baseUrl} (${each} ms per list of fields).`);
  if (entities.length > 0) {
    const why = `The deployed filters and extra keys of ${entities.join(', ')} are unknown, because the configuration file does not have them.`;
    columns.push(unknown(why, 'Name the configuration that was deployed: --configuration FILE.'));
  }
  // An unreadable bucket concerns all entities, so it is reported once.
  return { service, columns: [...new Map(columns.map((finding) => [finding.of, finding])).values()] };
}

function clientWith({ crm }: Deployment, { accessToken, scope }: Tokens, options: AskOptions): CrmClient {
  return createCrmClient({
    baseUrl: crm.baseUrl,
    getAccessToken: async ({ rejected } = {}) => {
      if (rejected === undefined) return { accessToken, scope };
      if (!options.refreshed) throw new TokenRefused();
      throw new RunError('AuthRefused', 'The CRM answers 401 to a token that it has just issued.');
    },
    log: { info: () => undefined, error: () => undefined },
    now: options.now,
  });
}

function refused(refreshCommand: string): Finding {
  const text =
    'The CRM refuses the stored access token before it expires (401), as after a withdrawn grant. The lists of fields were not read.';
  return broken(text, `A run would refresh it first. To try this now: ${refreshCommand}.`);
}

async function entityFindings(
  known: Configured,
  { entity, fields }: Pick<Listed, 'entity' | 'fields'>,
  { target, now }: AskOptions,
): Promise<Finding[]> {
  const { deployment, file, changed } = known;
  // Without the newest export, the columns of the CRM are still checked.
  const unread: Finding[] = [];
  const last = await newestColumns(target, entity).catch((error: unknown) => {
    unread.push(about('changed', asRemark(findingOf(error))));
    return undefined;
  });
  const judged = (settings: Deployment): Finding[] => [
    ...columnsFindings(settings, { entity, fields, last, date: dateIn(settings.timeZone, now()) }),
    ...unread,
  ];
  const planned = file && changed.includes(entity) ? judged(file).filter(({ verdict }) => verdict !== 'holds') : [];
  return [
    ...judged(deployment).map((finding) => softened(known, finding, entity)),
    // A plan that is not deployed fails no night.
    ...planned.map((one) => about(`file.${one.of}`, asRemark(one, ' (By the file, which is not deployed.)'))),
  ];
}

/** The columns of the newest published export; `undefined` if there is none or its manifest has invalid content. */
async function newestColumns(target: AskOptions['target'], entity: Entity): Promise<LastColumns> {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
  const manifest = pointer && (await ifReadable(manifests.manifest(pointer.manifestKey), unreadable));
  return manifest && lastColumnsOf(manifest);
}

/** Checks columns and request by the rules of a run, and compares them with those of the newest export. */
export function columnsFindings(deployment: Deployment, { entity, date, fields, last }: Listed): Finding[] {
  const plan = deployment.entities[entity];
  const planned = planFor(plan, { entity, date });
  const findings: Finding[] = [];
  const warn = (of: string, found: string, advice: string) => findings.push(about(of, warning(found, advice)));
  let of: string = entity;
  try {
    const chosen = chooseColumns(planned, fields, last);
    const { requested, warnings } = chosen;
    buildRequest({ entity }, plan, deployment.crm, requested);
    const count = plan.columns === 'all' ? `All ${requested.length}` : `${requested.length} of ${fields.length}`;
    findings.push(about(entity, holds(`${count} columns that the CRM lists are exported.`)));
    const correct = 'The next run warns of it in its manifest: correct the configuration if that is not intended.';
    if (warnings.length > 0) warn(`${entity}.except`, warnings.join(' '), correct);
    const strange = strangeLabels(deployment, entity, fields);
    if (strange.length > 0) {
      const text = `columns.labels names columns that the CRM does not list: ${strange.slice(0, 10).join(', ')}.`;
      warn(`${entity}.labels`, text, 'Their texts have no effect: correct or remove them.');
    }
    of = `${entity}.changed`;
    // Without a newest export whose columns are known, no run fails by a change.
    const changes = last && last !== 'unknown' ? compareColumns(planned, fields, chosen, last).warnings : [];
    const tell = 'The next run exports them as they are, and its manifest lists them. Tell the readers of the files.';
    if (changes.length > 0) warn(of, changes.join(' '), tell);
  } catch (error) {
    findings.push(about(of, findingOf(error)));
  }
  return findings;
}

/** `"city" (for "Town")` for each entry of columns.labels whose column the CRM does not list. */
function strangeLabels({ entities }: Deployment, entity: Entity, fields: Field[]): string[] {
  const listed = new Set(fields.map(({ name }) => folded(name)));
  return Object.entries(labelsOf(entities[entity])).flatMap(([text, value]) =>
    value === null || listed.has(folded(value)) ? [] : [`"${value}" (for "${text}")`],
  );
}

/**
 * Turns a finding into a warning if the nightly rule is off, as the entity cannot fail a night then, and if filters and
 * extra keys of the plan are unknown, as column rules need them too.
 */
function softened({ deployment, unknown: entities }: Configured, finding: Finding, entity: Entity): Finding {
  if (entities.includes(entity)) {
    return asRemark(finding, ' (Its deployed filters or extra keys are unknown here.)');
  }
  return deployment.entities[entity].enabled ? finding : asRemark(finding, ' (Its nightly rule is switched off.)');
}
