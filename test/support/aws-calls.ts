import { readFileSync } from 'node:fs';

/** SDK clients whose service has another name in policies. */
const SERVICES: Record<string, string> = {
  sfn: 'states',
  eventbridge: 'events',
  'cloudwatch-logs': 'logs',
  'secrets-manager': 'secretsmanager',
};

/**
 * The SDK calls in the imports of a file, with service names of policies: `{ service: 's3', call: 'ListObjectsV2' }`.
 */
export function callsIn(file: string): { service: string; call: string }[] {
  const imports = readFileSync(file, 'utf8').matchAll(
    /^import (?!type )\{([^}]*)\} from '@aws-sdk\/client-([\w-]+)'/gm,
  );
  return [...imports].flatMap(([, names = '', client = '']) =>
    [...names.matchAll(/\b(?:paginate(\w+)|(\w+)Command)\b/g)].map(([, paged, one]) => {
      return { service: SERVICES[client] ?? client, call: paged ?? one ?? '' };
    }),
  );
}
