import { type Deployment, deploymentSchema } from '../../core/config/deployment.ts';
import { type Run, type RunState, runStateSchema, type StoredFile } from '../../core/step/states.ts';
import { MACHINE_VERSION } from '../../core/step/steps.ts';
import { DEAD_ADDRESS } from './http-server.ts';

/** Builders of valid values. A test passes only the properties that it is about. */

export const EXPORT_ID = '0b2f4f0e-6a51-4bb1-8d8e-1f7a4c3d2e10';
export const OTHER_EXPORT_ID = 'ffffffff-6a51-4bb1-8d8e-1f7a4c3d2e10';
export const STARTED_AT = '2026-11-20T01:00:00.000Z';

/** A marker for secrets: wherever it appears, a secret leaked. */
export const CANARY = 'c4n4ry-5ecret';

type DeploymentInput = Omit<Partial<Deployment>, 'crm' | 'nightly' | 'polling' | 'entities'> & {
  crm?: Partial<Deployment['crm']>;
  nightly?: Partial<Deployment['nightly']>;
  polling?: Partial<Deployment['polling']>;
  entities?: { [entity in keyof Deployment['entities']]?: object };
};

/** Deployments by their input: simulations ask for thousands of the same one, and validation takes half a millisecond. */
const deployments = new Map<string, Deployment>();

/** A valid deployment, a new copy for each caller. */
export function deployment(input: DeploymentInput = {}): Deployment {
  const name = JSON.stringify(input);
  const known = deployments.get(name) ?? validDeployment(input);
  deployments.set(name, known);
  return structuredClone(known);
}

function validDeployment({ crm = {}, ...overrides }: DeploymentInput): Deployment {
  return deploymentSchema.parse({
    local: true,
    crm: { baseUrl: `${DEAD_ADDRESS}/api/v1`, authUrl: `${DEAD_ADDRESS}/auth`, ...crm },
    polling: { firstWaitSeconds: 10, largestWaitSeconds: 100, deadlineSeconds: 3600 },
    ...overrides,
  });
}

export function run(overrides: Partial<Run> = {}): Run {
  return {
    schemaVersion: 1,
    entity: 'leads',
    exportId: EXPORT_ID,
    date: '2026-11-20',
    prefix: 'runs/entity=leads/run=night-1/',
    deadline: '2026-11-20T02:00:00.000Z',
    firstWaitSeconds: 10,
    largestWaitSeconds: 100,
    keptUntil: '2027-02-18',
    request: { columns: ['id', 'name'] },
    listed: { others: ['phone', 'email'], labels: ['מזהה', 'שם', 'טלפון', null], types: null, complete: true },
    fingerprint: 'f'.repeat(64),
    plan: 'a'.repeat(64),
    kind: 'full',
    differs: [],
    publish: true,
    excepted: [],
    drift: null,
    remarks: [],
    schemaChanges: 0,
    createdAt: '2026-11-20T01:00:05.000Z',
    adopted: null,
    softwareVersion: '0.1.0',
    ...overrides,
  };
}

/** The state of a run after CreateExport has started it. */
export function runState(overrides: Partial<RunState> = {}): RunState {
  return runStateSchema.parse({
    input: { entity: 'leads' },
    execution: 'night-1',
    startedAt: STARTED_AT,
    machineVersion: MACHINE_VERSION,
    checks: 3,
    run: run(),
    ...overrides,
  });
}

/** The state that BeginRun passes to CreateExport. */
export function newState(input: unknown = { entity: 'leads' }, overrides: Partial<RunState> = {}): RunState {
  return runState({ input, checks: 0, run: null, ...overrides });
}

export function storedFile(overrides: Partial<StoredFile> = {}): StoredFile {
  return {
    key: 'runs/entity=leads/run=night-1/leads.csv',
    bytes: 0,
    crc32: 'AAAAAA==',
    contentType: 'text/csv',
    storedAt: '2026-11-20T01:10:00.000Z',
    restarts: 0,
    undeclaredEnd: false,
    ...overrides,
  };
}
