import * as z from 'zod';
import { HOST_PATTERN, isAllowedHost } from '../../transfer/index.ts';

/** The part of a deployment's configuration that is about the user's own network. */

const idOf = (kind: string, what: string) =>
  z.string().regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), {
    error: `must be the id of ${what}, such as "${kind}-0123456789abcdef0"`,
  });

/** As many as Lambda takes (https://docs.aws.amazon.com/lambda/latest/api/API_VpcConfig.html). */
const idsOf = (kind: string, what: string, most: number) =>
  z
    .array(idOf(kind, what))
    .min(1)
    .max(most)
    .refine((ids) => new Set(ids).size === ids.length, { error: 'names an id twice' });

export const networkSchema = z
  .strictObject({
    vpcId: idOf('vpc', 'a VPC').describe('VPC in the account and region of the deployment.'),
    subnetIds: idsOf('subnet', 'a subnet', 16).describe(
      'Subnets of this VPC, each with a way to the CRM and to AWS (docs/operating.md, "A network of your own").',
    ),
    securityGroupIds: idsOf('sg', 'a security group', 5).describe(
      'Security groups of this VPC, which let https out. Nothing has to be let in.',
    ),
  })
  .optional()
  .describe(
    'The functions that call the CRM or the file host, and no others, run in these subnets. Nothing is created there but the network interfaces of AWS Lambda.',
  );

/** Exact names: who lists every name below one cannot say what is in the network. */
const privateHost = z
  .string()
  .max(253)
  .refine((host) => HOST_PATTERN.test(host) && !host.startsWith('.'), {
    error: 'must be a whole host name in lower case, such as "crm.example.internal"; no leading dot, no IP address',
    abort: true,
  });

export const privateHostsSchema = z
  .array(privateHost)
  .max(50)
  .default([])
  .describe(
    'Hosts of files, each by its whole name, that may resolve to private addresses, for a CRM or file host in your own network. Every other private address stays refused, and link-local ones always. Needs `network`.',
  );

interface Settings {
  local: boolean;
  network?: z.infer<typeof networkSchema>;
  crm: { baseUrl: string; authUrl: string; fileHosts: string[]; privateHosts: string[] };
}

/** A private host that nothing calls, or that no function can reach. */
export function networkContradictions({ local, network, crm }: Settings): { path: string[]; message: string }[] {
  const path = ['crm', 'privateHosts'];
  if (crm.privateHosts.length > 0 && !network && !local) {
    return [{ path, message: 'needs `network`: outside of your subnets no function reaches a private address' }];
  }
  const called = [crm.baseUrl, crm.authUrl].map((address) => URL.parse(address)?.hostname);
  const isCalled = (host: string) =>
    called.includes(host) || isAllowedHost(host, { hosts: crm.fileHosts, local: false });
  return crm.privateHosts
    .filter((host) => !isCalled(host))
    .map((host) => ({
      path,
      message: `names ${host}, which is neither a host of the CRM nor one of \`crm.fileHosts\``,
    }));
}
