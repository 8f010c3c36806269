// The bytes of a body as they come. Not every platform's streams can be iterated over by themselves.

/** Whoever stops reading ends the body. */
export async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}
