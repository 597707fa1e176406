import { connect, type Target } from '../../../../cli/support/target.ts';
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

/** The parts of a deployment that has nothing yet; they stand behind the parts that a test gives. */
const NOTHING_YET: Part[] = [stack(), configured(), executions([]), rules(), bucket];

/**
 * AWS on loopback with one deployment, for the length of a test, of the parts that the test is about: `aws(stack(…),
 * executions(…), fault(…))`. The first part that has an answer gives it. What no part answers is refused.
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
    /** What was asked of the deployment once its stack was found, in order. */
    calls,
    /** All of these calls, a line for each. */
    asked,
    /** The options that name the deployment. */
    place,
    cli: (...args: string[]): Promise<CliResult> => runCli(...args, ...place),
    target: await reached(endpoint),
    /** A client of the SDK that tries once. */
    client: <C>(Client: ClientClass<C>): C => once(Client, endpoint),
    publish: (publication?: Publication) => publishTo(world, publication),
  };
}

type ClientClass<C> = new (settings: typeof ONCE & { endpoint: string }) => C;

/** A client of the SDK that tries once. */
export function once<C>(Client: ClientClass<C>, endpoint: string): C {
  return new Client({ ...ONCE, endpoint });
}

const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const ONCE = { region: 'us-east-1', credentials, maxAttempts: 1, forcePathStyle: true };

/** What commands work with. A test whose stack is refused has no use for it, and gets nothing. */
function reached(endpointUrl: string): Promise<Target> {
  return connect({ deployment: DEPLOYMENT, endpointUrl }).catch(() => ({}) as Target);
}
