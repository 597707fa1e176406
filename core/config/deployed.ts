import { canonicalText, isRecord, jsonOrUndefined, ownValue, sha256Of } from '../json.ts';
import { chosenColumnsOf } from './chosen-columns.ts';
import type { Deployment } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';
import type { EntityPlan } from './entity-settings.ts';
import { dependsOnDate } from './relative-date.ts';

/** Digests replace what not everybody may read. They show whether two values are equal. */
type DeployedPlan = EntityPlan & { extra: { digest: string } };

/** The deployed configuration with all defaults. Filters and extra keys are digests. */
export type Deployed = Deployment & { entities: Record<Entity, DeployedPlan> };

/** The key in the template's `Metadata`. Raise its number when commands can no longer read an earlier form. */
const METADATA_KEY = 'CrmExportConfiguration1';

/** The configuration without the values that readers of the stack's template must not see. */
export function deployedOf({ $schema: _, ...deployment }: Deployment): Deployed {
  const plans = ENTITIES.map((entity) => [entity, hidden(deployment.entities[entity])]);
  return { ...deployment, entities: Object.fromEntries(plans) };
}

function hidden({ filters, extra, ...plan }: EntityPlan): DeployedPlan {
  return {
    ...plan,
    // The same code reads filters here and in a file, so they have the form of filters.
    ...(filters && { filters: [{ digest: digestOf(filters), dependsOnDate: dependsOnDate(filters) }] }),
    extra: { digest: digestOf(extra) },
  };
}

/** The `Metadata` of the template, in base64: GetTemplate returns every character outside ASCII as `?`. */
export function metadataOf(deployed: Deployed): Record<string, string> {
  return { [METADATA_KEY]: Buffer.from(JSON.stringify(deployed)).toString('base64') };
}

/** @returns `undefined` if the template has no configuration, another form of it, or fewer entities */
export function deployedBy(metadata: Record<string, unknown> = {}): Deployed | undefined {
  const text = Buffer.from(String(metadata[METADATA_KEY] ?? ''), 'base64').toString();
  // The synthesis has checked the configuration, so it is not checked again here.
  const deployed = jsonOrUndefined(text) as Deployed | undefined;
  if (!deployed || !ENTITIES.every((entity) => entity in deployed.entities)) return undefined;
  // Earlier releases stored `columns` in its short forms.
  for (const plan of Object.values(deployed.entities)) plan.columns = chosenColumnsOf(plan.columns);
  return deployed;
}

/** A setting that would change if the file were deployed. */
export interface Difference {
  path: string;
  /** The two values; left out if they must not be shown. A missing value is `undefined`. */
  values?: { deployed: unknown; file: unknown };
}

/** Compares setting by setting. Time zone offsets are ignored, because they come from the machine that deploys. */
export function differencesFrom(deployed: Deployed, file: Deployment): Difference[] {
  const all = differences('', { ...deployed, zoneOffsets: undefined }, { ...deployedOf(file), zoneOffsets: undefined });
  // A change of the deployment's polling is one difference, not one more for each entity.
  const common = new Set(all.map(canonicalText));
  return all.filter(({ path, ...values }) => {
    const ofAll = path.replace(/^entities\.[^.]+\./, '');
    return ofAll === path || !common.has(canonicalText({ path: ofAll, ...values }));
  });
}

/** Settings that are shown only as different: digests, and addresses of persons. */
const HIDDEN = /^(entities\.[^.]+\.(filters|extra)|alarms\.email)$/;

function differences(path: string, deployed: unknown, file: unknown): Difference[] {
  if (canonicalText(deployed) === canonicalText(file)) return [];
  if (HIDDEN.test(path)) return [{ path }];
  // A missing value counts as an object without properties.
  const sides = [deployed ?? {}, file ?? {}];
  const keys = sides.every(isRecord) ? [...new Set(sides.flatMap(Object.keys))] : [];
  if (keys.length === 0) return [{ path, values: { deployed, file } }];
  return keys.flatMap((key) =>
    differences(path === '' ? key : `${path}.${key}`, ownValue(deployed, key), ownValue(file, key)),
  );
}

/** A digest of a value. It is short, because people see it. */
export function digestOf(value: unknown): string {
  return sha256Of(value, 8);
}
