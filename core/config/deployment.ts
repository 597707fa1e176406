import type * as z from 'zod';
import { HOST_PATTERN } from '../../transfer/source/guard.ts';
import { chosenColumnsOf } from './chosen-columns.ts';
import { contradictions } from './contradictions.ts';
import { ENTITIES, type Entity } from './entities.ts';
import type { EntityPlan } from './entity-settings.ts';
import { UPDATE_SCOPE } from './scopes.ts';
import { type Settings, settingsSchema } from './settings.ts';

/**
 * The configuration of a deployment with all defaults. Synthesis checks it and bundles it with every function as
 * `deployment.json`, because the environment of a function is limited to 4 KB.
 *
 * Functions import only types from here, no values, because zod is large.
 */

export const deploymentSchema = settingsSchema
  .transform((settings) => ({
    ...settings,
    crm: { ...settings.crm, scopes: withUpdateScope(settings), fileHosts: fileHostsOf(settings.crm) },
    entities: plansOf(settings),
  }))
  .superRefine((filled, context) => {
    for (const { path, message } of contradictions(filled)) context.addIssue({ code: 'custom', path, message });
  });

/**
 * The configuration with all defaults; each entity has a complete plan. The bundle of a function also has the offsets
 * of the time zone in minutes, from when the rules were made.
 */
export type Deployment = z.infer<typeof deploymentSchema> & { zoneOffsets?: number[] };
/** The settings that OAuth needs. */
export type OAuthSettings = Pick<Deployment['crm'], 'authUrl' | 'scopes' | 'clientAuthentication'>;

function withUpdateScope({ crm: { scopes }, customerUpdates }: Settings): string[] {
  return !customerUpdates || scopes.includes(UPDATE_SCOPE) ? scopes : [...scopes, UPDATE_SCOPE];
}

/**
 * The hosts of files. The default is the host of the interface; it is empty if that host is an IP address or a name in
 * the deployment's own network.
 */
function fileHostsOf({ baseUrl, fileHosts }: Settings['crm']): string[] {
  if (fileHosts.length > 0) return fileHosts;
  const hostname = URL.parse(baseUrl)?.hostname ?? '';
  return HOST_PATTERN.test(hostname) ? [hostname] : [];
}

function plansOf({ entities, polling }: Settings): Record<Entity, EntityPlan> {
  const plans = ENTITIES.map((entity) => {
    const settings = entities[entity];
    const columns = chosenColumnsOf(settings.columns);
    return [entity, { ...settings, columns, polling: { ...polling, ...settings.polling } }];
  });
  return Object.fromEntries(plans);
}
