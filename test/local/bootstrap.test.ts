import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { bootstrap } from '../../local/bootstrap.ts';
import { EnvironmentError } from '../../local/processes/environment-error.ts';

/** A CloudFormation that refuses every request in the same way. */
async function refusing(code: string): Promise<{ endpoint: string; requests: URLSearchParams[] }> {
  const requests: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    requests.push(new URLSearchParams(await text(request)));
    const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>because</Message></Error>`;
    response.writeHead(400, { 'content-type': 'text/xml' }).end(`<ErrorResponse>${error}</ErrorResponse>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

test('what is bootstrapped is the stack of the CDK CLI', async () => {
  const { endpoint, requests } = await refusing('AlreadyExistsException');

  await bootstrap(endpoint);

  expect(requests[0]?.get('StackName')).toBe('CDKToolkit');
  expect(requests[0]?.get('TemplateBody')).toMatch(/CdkBootstrapVersion:/);
});

test('an account that is bootstrapped already is left as it is', async () => {
  const { endpoint, requests } = await refusing('AlreadyExistsException');

  await expect(bootstrap(endpoint)).resolves.toBeUndefined();
  expect(requests).toHaveLength(1);
});

test('a local cloud that refuses the stack is a matter of the environment', async () => {
  const { endpoint } = await refusing('ValidationError');

  const refused = bootstrap(endpoint);

  await expect(refused).rejects.toThrow(EnvironmentError);
  await expect(refused).rejects.toThrow(/made no stack CDKToolkit: because/);
});
