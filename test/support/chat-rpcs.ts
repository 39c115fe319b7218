import type { RpcsOf } from '@gatehouse/grpc/rpc';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { someRpcs } from './some-rpcs.ts';

type ChatRpcs = RpcsOf<typeof ChatServiceService>;

/** The RPCs of a chat service, of which the test implements some; all others fail. */
export function chatRpcs(played: Partial<ChatRpcs>): ChatRpcs {
  return someRpcs(ChatServiceService, played);
}
