import { testTransferProperties } from '../support/transfer-properties.ts';

testTransferProperties({ fewFaults: 300, anyFaults: 400 });
