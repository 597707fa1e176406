import { testTransferProperties } from '../support/transfer-properties.ts';

/** Many more scripts are tried in `test/long/transfer-property.test.ts`. */
testTransferProperties({ fewFaults: 20, anyFaults: 25 });
