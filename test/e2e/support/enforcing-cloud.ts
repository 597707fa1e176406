import { dirname, join } from 'node:path';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { LOCAL_REGION } from '../../../local/ministack/ministack-environment.ts';
import { ensureMinistack } from '../../../local/ministack/python.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';

/** Starts a separate local cloud that enforces rights, without waits of machines. */
export async function startEnforcingCloud() {
  const record = await openRunRecord(join(import.meta.dirname, '../../../.cache'));
  const command = await ensureMinistack({ record });
  const options = { nodeBin: dirname(process.execPath), settings: { SFN_WAIT_SCALE: '0', AUTH: 'true' } };
  const cloud = await startMinistack({ ...command, ...options, record });
  return { ...cloud, close: () => record.close() };
}

/** Sends a request of an account for which the SDK has no client here. @returns the answer */
export async function askAs(
  endpoint: string,
  account: string,
  service: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const authorization = `AWS4-HMAC-SHA256 Credential=${account}/20261123/${LOCAL_REGION}/${service}/aws4_request, SignedHeaders=host, Signature=0`;
  const response = await fetch(endpoint, { method: 'POST', headers: { authorization, ...headers }, body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** Creates a user of an account with this policy. @returns the credentials */
export async function createUser(endpoint: string, account: string, UserName: string, policy: object) {
  const iam = (parameters: Record<string, string>) =>
    askAs(endpoint, account, 'iam', `${new URLSearchParams({ Version: '2010-05-08', ...parameters })}`);
  await iam({ Action: 'CreateUser', UserName });
  await iam({ Action: 'PutUserPolicy', UserName, PolicyName: 'all', PolicyDocument: JSON.stringify(policy) });
  const key = await iam({ Action: 'CreateAccessKey', UserName });
  const part = (name: string) => new RegExp(`<${name}>(.*?)</${name}>`).exec(key)?.[1] ?? '';
  return { accessKeyId: part('AccessKeyId'), secretAccessKey: part('SecretAccessKey') };
}
