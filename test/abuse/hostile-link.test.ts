import { describe, expect, test } from 'vitest';
import { asStep } from '../../core/step/export-run.ts';
import { downloadFile } from '../../lambdas/download-file/download-file.ts';
import { abortUpload, transfer } from '../../transfer/transfer.ts';
import { CANARY, deployment, runState } from '../support/builders.ts';
import { composed, lambdaContext, testDeps } from '../support/deps.ts';
import { asked } from '../support/downloads.ts';
import { fakeCrm } from '../support/fake-crm.ts';
import { NO_STORE } from '../support/fake-transfer.ts';

/** Abuse cases: the file address from the CRM leads into the function's own network. `guard.test.ts` tests redirects. */

const FILES = 'files.example.com';
const crm = { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://crm.example.com/auth' };
/** The deployment with its settings on AWS. */
const production = deployment({ local: false, crm: { ...crm, fileHosts: [FILES] } });

const INSIDE = [
  'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/latest/meta-data/',
  'https://0xa9.0xfe.0xa9.0xfe/latest/meta-data/',
  'https://[fd00:ec2::254]/latest/meta-data/',
  'https://[::ffff:169.254.169.254]/latest/meta-data/',
  'http://169.254.170.2/v2/credentials/',
  'http://127.0.0.1:9001/2018-06-01/runtime/invocation/next',
  'https://localhost/2018-06-01/runtime/invocation/next',
  'https://[::1]/',
  'file:///proc/self/environ',
];

describe('a download link from the CRM', () => {
  test.each(INSIDE)('to %s is rejected without a request, and is in no error or log', async (address) => {
    const deps = testDeps({ deployment: production });
    const link = asked({ url: `${address}?${CANARY}` });
    const clients = { crm: fakeCrm(link), store: NO_STORE, transfer, abortUpload };
    const handler = asStep('DownloadFile', downloadFile, ...composed({ ...deps, ...clients }));

    const answer = await handler(runState(), lambdaContext());

    expect(answer.failure?.error).toBe('DownloadUrlRejected');
    expect(JSON.stringify([answer.failure, deps.log.lines])).not.toContain(CANARY);
    // The file server and the bucket received no request.
    expect(deps.log.lines).toMatchObject([{ message: 'answered', fields: { fileRequests: 0, storeRequests: 0 } }]);
  });
});
