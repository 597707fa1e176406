import { createHash } from 'node:crypto';
import { canonicalText, jsonOrUndefined } from '../json.ts';
import type { Deployment } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';
import type { EntityPlan } from './entity-settings.ts';
import { dependsOnDate } from './relative-date.ts';

/**
 * What stands where a value stood that not everybody may read. It tells whether two values are equal, and has the form of what it
 * stands for: a deployed configuration is read by the same code as any other.
 */
interface Digest extends Record<string, unknown> {
  digest: string;
}

/** The filters of an entity as the template has them. */
interface HiddenFilters extends Digest {
  /** Whether they select other records for another day. */
  dependsOnDate: boolean;
}

type DeployedPlan = EntityPlan & { filters?: HiddenFilters[]; extra: Digest };

/** The configuration that is deployed, with all defaults. Filters, extra keys and mail addresses are digests. */
export type Deployed = Deployment & { entities: Record<Entity, DeployedPlan> };

/** The key of the template's `Metadata`. Its number is raised where commands can no longer read what an earlier release wrote. */
const METADATA_KEY = 'CrmExportConfiguration1';

/** The configuration of a deployment as everybody may read it who may read the template of its stack. */
export function deployedOf({ $schema: _, ...deployment }: Deployment): Deployed {
  const { alarms } = deployment;
  const plans = ENTITIES.map((entity) => [entity, hidden(deployment.entities[entity])]);
  return {
    ...deployment,
    alarms: { ...alarms, email: alarms.email.map(mailDigest).sort() },
    entities: Object.fromEntries(plans),
  };
}

function hidden({ filters, extra, ...plan }: EntityPlan): DeployedPlan {
  return {
    ...plan,
    ...(filters && { filters: [{ digest: digestOf(filters), dependsOnDate: dependsOnDate(filters) }] }),
    extra: { digest: digestOf(extra) },
  };
}

/** Addresses are compared without case, as mail is delivered. */
export function mailDigest(address: string): string {
  return digestOf(address.toLowerCase());
}

/** The `Metadata` of the template: in base64, for GetTemplate returns every character that is not ASCII as `?`. */
export function metadataOf(deployed: Deployed): Record<string, string> {
  return { [METADATA_KEY]: Buffer.from(JSON.stringify(deployed)).toString('base64') };
}

/** @returns `undefined` where the template is of a release that wrote none, another form, or fewer entities */
export function deployedBy(metadata: Record<string, unknown> = {}): Deployed | undefined {
  const text = Buffer.from(String(metadata[METADATA_KEY] ?? ''), 'base64').toString();
  // What a synthesis has written is trusted, as the functions trust their own copy of it.
  const deployed = jsonOrUndefined(text) as Deployed | undefined;
  return deployed && ENTITIES.every((entity) => entity in deployed.entities) ? deployed : undefined;
}

/** A setting that a deployment of the file would change. */
export interface Difference {
  path: string;
  /** Both values, as far as they may be shown; `undefined` where there is none. */
  values?: { deployed: unknown; file: unknown };
}

/** Setting by setting. Offsets of the time zone are no setting: they come from the machine that deploys. */
export function differencesFrom(deployed: Deployed, file: Deployment): Difference[] {
  const all = differences('', { ...deployed, zoneOffsets: undefined }, { ...deployedOf(file), zoneOffsets: undefined });
  // A change of the deployment's own polling is one difference, not one of each entity too.
  const common = new Set(all.map(canonicalText));
  return all.filter(({ path, ...values }) => {
    const ofAll = path.replace(/^entities\.[^.]+\./, '');
    return ofAll === path || !common.has(canonicalText({ path: ofAll, ...values }));
  });
}

/** Settings whose digests say only that they differ. */
const HIDDEN = /^(entities\.[^.]+\.(filters|extra)|alarms\.email)$/;

function differences(path: string, deployed: unknown, file: unknown): Difference[] {
  if (canonicalText(deployed) === canonicalText(file)) return [];
  if (HIDDEN.test(path)) return [{ path }];
  const [ours, theirs] = [partsOf(deployed), partsOf(file)];
  const keys = ours && theirs ? [...new Set([...Object.keys(ours), ...Object.keys(theirs)])] : [];
  if (keys.length === 0) return [{ path, values: { deployed, file } }];
  return keys.flatMap((key) => differences(path === '' ? key : `${path}.${key}`, ours?.[key], theirs?.[key]));
}

/** What is not there has no parts; `undefined` for a value that is not made of named parts. */
function partsOf(value: unknown = {}): Record<string, unknown> | undefined {
  const named = typeof value === 'object' && value !== null && !Array.isArray(value);
  return named ? { ...value } : undefined;
}

/** Short, for people see it; whatever the order of keys. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex').slice(0, 8);
}
