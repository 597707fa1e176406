import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { canonicalText } from '../json.ts';
import type { Deployment } from './deployment.ts';
import { ENTITIES, type Entity } from './entities.ts';

/** Anybody who may describe the stack reads its outputs: filters and e-mail addresses are in the digests only. */
export const deployedSchema = z.object({
  CrmBaseUrl: z.string(),
  CrmAuthUrl: z.string(),
  /** Separated by blanks. */
  CrmScopes: z.string(),
  CrmClientAuthentication: z.enum(['basic', 'basic_raw', 'post', 'none']),
  /** `KEY:DIGEST` of every other part of the configuration, separated by blanks. */
  ConfigurationDigests: z.string(),
});
export type DeployedOutputs = z.infer<typeof deployedSchema>;

export function deployedOutputs({ crm, ...others }: Deployment): DeployedOutputs {
  const { baseUrl, authUrl, scopes, clientAuthentication, ...rest } = crm;
  const { $schema: _, zoneOffsets: __, entities, ...parts } = others;
  const plans = ENTITIES.map((entity) => {
    const { polling, ...plan } = entities[entity];
    // A change of the deployment's own polling is one difference, not one of each entity too.
    const own = isDeepStrictEqual(polling, parts.polling) ? {} : { polling };
    return [planKey(entity), { ...plan, ...own }];
  });
  const crmParts = Object.entries(rest).map(([key, value]) => [`crm.${key}`, value]);
  const all: [string, unknown][] = Object.entries({ ...Object.fromEntries([...crmParts, ...plans]), ...parts });
  return {
    CrmBaseUrl: baseUrl,
    CrmAuthUrl: authUrl,
    CrmScopes: scopes.join(' '),
    CrmClientAuthentication: clientAuthentication,
    ConfigurationDigests: all.map(([key, value]) => `${key}:${digestOf(value)}`).join(' '),
  };
}

export function planKey(entity: Entity): string {
  return `entities.${entity}`;
}

/** How to reach the CRM, as it is deployed. */
export function deployedCrm({ CrmBaseUrl, CrmAuthUrl, CrmScopes, CrmClientAuthentication }: DeployedOutputs) {
  return {
    baseUrl: CrmBaseUrl,
    authUrl: CrmAuthUrl,
    scopes: CrmScopes.split(' '),
    clientAuthentication: CrmClientAuthentication,
  };
}

/** A part of the configuration that is not what is deployed; both values where the outputs have them. */
export interface Difference {
  key: string;
  deployed?: string;
  file?: string;
}

export function differencesFrom(outputs: DeployedOutputs, configuration: Deployment): Difference[] {
  const ours = deployedOutputs(configuration);
  const plain = PLAIN.flatMap(([name, key]): Difference[] =>
    outputs[name] === ours[name] ? [] : [{ key, deployed: outputs[name], file: ours[name] }],
  );
  const digests = [ours, outputs].flatMap(({ ConfigurationDigests }) => ConfigurationDigests.split(' '));
  const changed = digests.filter((digest) => digests.indexOf(digest) === digests.lastIndexOf(digest));
  const keys = new Set(changed.map((digest) => digest.replace(/:.*/, '')));
  return [...plain, ...[...keys].map((key) => ({ key }))];
}

const PLAIN = [
  ['CrmBaseUrl', 'crm.baseUrl'],
  ['CrmAuthUrl', 'crm.authUrl'],
  ['CrmScopes', 'crm.scopes'],
  ['CrmClientAuthentication', 'crm.clientAuthentication'],
] as const;

/** Short, for people see it; whatever the order of keys. */
function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex').slice(0, 8);
}
