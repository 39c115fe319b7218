/** The library has no types of its own, and those on npm lack `xml`. */
declare module 'html-encoding-sniffer' {
  function sniffEncoding(
    bytes: Uint8Array,
    options?: { xml?: boolean; transportLayerEncodingLabel?: string; defaultEncoding?: string },
  ): string;
  export = sniffEncoding;
}
