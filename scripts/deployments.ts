import { readFileSync } from 'node:fs';
import { type Deployment, deploymentSchema } from '../core/config/deployment.ts';

/** Deployments for synthesis, for generated documents and for tests. */

/** `config/example.json`, validated. @param values replace those of the file */
export function exampleDeployment(values: Record<string, unknown> = {}): Deployment {
  return deploymentSchema.parse({ ...JSON.parse(readFileSync('config/example.json', 'utf8')), ...values });
}

/** The example deployment, with updates of customers switched on. */
export function updatingDeployment(values: Record<string, unknown> = {}): Deployment {
  return exampleDeployment({ customerUpdates: true, ...values });
}

/** The requested columns, so that all columns of the table are known. */
const COLUMNS = ['id', 'idNumber'];

/** The example deployment with tables of leads. */
export function tableDeployment(tables: Record<string, unknown> = {}): Deployment {
  return exampleDeployment({ entities: { leads: { columns: COLUMNS, tables } } });
}

/** The example deployment with tables and a feed of leads. */
export function feedDeployment(): Deployment {
  return exampleDeployment({ entities: { leads: { columns: COLUMNS, tables: {}, changes: { key: 'id' } } } });
}

/** Readers of each kind: an account, a role with a path, an organization. */
const READERS = [
  { principal: '444455556666', entities: 'all', of: ['tables'] },
  { principal: 'arn:aws:iam::777788889999:role/data/analyst', entities: ['leads'], of: ['tables', 'files'] },
  { principal: { organization: 'o-a1b2c3d4e5' }, entities: ['leads', 'contacts'], of: ['files'] },
];

/** All options: updates of customers, tables with a hashed column, feeds, the dashboard, foreign readers. */
export function fullDeployment(values: Record<string, unknown> = {}): Deployment {
  const leads = { columns: COLUMNS, tables: { hash: ['idNumber'] }, changes: { key: 'id' } };
  return updatingDeployment({ entities: { leads }, dashboard: true, readers: READERS, ...values });
}

/** A network as a configuration names it. */
export const NETWORK = {
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
};
