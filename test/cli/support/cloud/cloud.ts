import { connect } from '../../../../cli/support/target.ts';
import { servedOnLoopback } from '../../../support/loopback.ts';
import { type CliResult, runCli } from '../run-cli.ts';
import { answerOf, send } from './answers.ts';
import { bucket } from './bucket.ts';
import { type Call, callOf, lineOf } from './call.ts';
import { executions } from './executions.ts';
import { type Publication, publishTo } from './publication.ts';
import { rules } from './rules.ts';
import { configured, DEPLOYMENT, stack } from './stack.ts';
import { answersOf, newWorld, type Part } from './world.ts';

/** The parts of an empty deployment. They come after the parts of a test. */
const NOTHING_YET: Part[] = [stack(), configured(), executions([]), rules(), bucket];

/**
 * AWS on loopback with one deployment, until the end of a test, made of the parts that the test needs: `aws(stack(…),
 * executions(…), fault(…))`. The first part with an answer gives it. A call without an answer is refused.
 */
export async function aws(...parts: Part[]) {
  const world = newWorld();
  const answers = [...parts, ...NOTHING_YET].map((part) => answersOf(part, world));
  const calls: Call[] = [];
  const asked: string[] = [];
  const endpoint = await servedOnLoopback(async (request, body, response) => {
    const call = callOf(request, body);
    if (call.service !== 'cloudformation') {
      calls.push(call);
      asked.push(lineOf(call));
    }
    send(response, call, await answerOf(call, answers));
  });
  const place = ['--deployment', DEPLOYMENT, '--endpoint-url', endpoint];
  return {
    ...world,
    endpoint,
    /** The calls to the deployment after its stack was found, in order. */
    calls,
    asked,
    place,
    cli: (...args: string[]): Promise<CliResult> => runCli(...args, ...place),
    client: <C>(Client: ClientClass<C>): C => once(Client, endpoint),
    publish: (publication?: Publication) => publishTo(world, publication),
  };
}

/** `aws`, and its deployment as the functions of commands take it. It needs a client and calls of its own. */
export async function awsWithTarget(...parts: Part[]) {
  const cloud = await aws(...parts);
  return { ...cloud, target: await connect({ deployment: DEPLOYMENT, endpointUrl: cloud.endpoint }) };
}

type ClientClass<C> = new (settings: typeof ONCE & { endpoint: string }) => C;

export function once<C>(Client: ClientClass<C>, endpoint: string): C {
  return new Client({ ...ONCE, endpoint });
}

const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const ONCE = { region: 'us-east-1', credentials, maxAttempts: 1, forcePathStyle: true };
