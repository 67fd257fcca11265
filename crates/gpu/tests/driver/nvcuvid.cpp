// NVIDIA's video library (libnvcuvid.so.1) for tests, beside the emulated driver: the stream is collected, ffmpeg decodes it
// when it ends, and every picture is delivered as the real library does it: coded size, U and V interleaved, samples of 10
// bits in the upper bits of 16. VISUS_FAKE_NVDEC makes it fail: "no-codec", "damaged" (the status of the fifth picture),
// "fields", "changes" (another size after the fifth picture), "short" (the last picture is lost).

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

typedef int CUresult;

static bool fails(const char* how) {
    const char* chosen = getenv("VISUS_FAKE_NVDEC");
    return chosen && !strcmp(chosen, how);
}

struct Caps {
    int codec, chroma;
    unsigned depth_above_8, reserved1[3];
    unsigned char supported, engines;
    unsigned short formats;
    unsigned max_width, max_height, max_blocks;
    unsigned short min_width, min_height;
    unsigned rest[11];
};

struct Format {
    int codec;
    unsigned rate[2];
    unsigned char progressive, luma_depth, chroma_depth, surfaces;
    unsigned coded_width, coded_height;
    int left, top, right, bottom;
    int chroma;
    unsigned bit_rate;
    int aspect[2];
    unsigned char signal[4];
    unsigned header;
};

struct Display {
    int index, progressive, top_first, repeat;
    long long time;
};

struct Parameters {
    int codec;
    unsigned surfaces, clock, threshold, delay, flags, reserved1[4];
    void* user;
    int (*on_sequence)(void*, Format*);
    int (*on_decode)(void*, void*);
    int (*on_display)(void*, Display*);
    void* others[8];
};

struct Packet {
    unsigned long flags, bytes;
    const unsigned char* data;
    long long time;
};

// One picture at a time is decoded: what the decoder was given last is what is mapped.
struct Decoder {
    size_t width, height, sample;
    std::vector<unsigned char> surface;
    int pictures = 0;
};

struct Parser {
    Parameters parameters;
    std::string stream;
};

// A stream's decoder is made by the thread that parses it.
static thread_local Decoder* current;

static void put32(std::string& text, uint32_t value) {
    text.append((const char*)&value, 4);
}

extern "C" {

CUresult cuvidGetDecoderCaps(Caps* caps) {
    caps->supported = !fails("no-codec") && caps->codec != 11;
    caps->engines = 7;
    caps->formats = 3;
    caps->max_width = caps->max_height = 4096;
    caps->max_blocks = 65536;
    caps->min_width = caps->min_height = 48;
    return 0;
}

CUresult cuvidCreateDecoder(void** decoder, const unsigned long* info) {
    Decoder* made = new Decoder;
    made->width = info[0];
    made->height = info[1];
    // Depth is the sixth number: three numbers, two halves, flags, depth.
    made->sample = info[5] ? 2 : 1;
    current = made;
    *decoder = made;
    return 0;
}
CUresult cuvidDestroyDecoder(void* decoder) {
    delete (Decoder*)decoder;
    return 0;
}
CUresult cuvidDecodePicture(void* decoder, void*) {
    ((Decoder*)decoder)->pictures++;
    return 0;
}
CUresult cuvidGetDecodeStatus(void* decoder, int, int* status) {
    *status = fails("damaged") && ((Decoder*)decoder)->pictures == 5 ? 8 : 2;
    return 0;
}
CUresult cuvidMapVideoFrame64(void* decoder, int, unsigned long long* address, unsigned* pitch, void*) {
    Decoder* from = (Decoder*)decoder;
    *address = (unsigned long long)from->surface.data();
    *pitch = (unsigned)(from->width * from->sample);
    return 0;
}
CUresult cuvidUnmapVideoFrame64(void*, unsigned long long) {
    return 0;
}
CUresult cuvidCreateVideoParser(void** parser, const Parameters* parameters) {
    *parser = new Parser{*parameters, {}};
    return 0;
}
CUresult cuvidDestroyVideoParser(void* parser) {
    delete (Parser*)parser;
    return 0;
}

// Rows of a plane into the surface, every `step`-th sample from `first` on, shifted into the upper bits.
static void place(Decoder* decoder, const unsigned char* plane, size_t width, size_t height, size_t row, size_t first,
                  size_t step, int shift) {
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            size_t to = ((row + y) * decoder->width + first + x * step) * decoder->sample;
            const unsigned char* from = plane + (y * width + x) * decoder->sample;
            if (decoder->sample == 1) {
                decoder->surface[to] = *from;
            } else {
                uint16_t value;
                memcpy(&value, from, 2);
                value = (uint16_t)(value << shift);
                memcpy(&decoder->surface[to], &value, 2);
            }
        }
    }
}

static CUresult show_all(Parser* parser) {
    const Parameters& p = parser->parameters;
    char name[] = "/tmp/visus-nvdec-XXXXXX";
    int file = mkstemp(name);
    if (file < 0 || write(file, parser->stream.data(), parser->stream.size()) != (ssize_t)parser->stream.size()) {
        return 999;
    }
    close(file);
    const char* demuxer = p.codec == 4 ? "h264" : p.codec == 8 ? "hevc" : "ivf";
    std::string command = std::string("ffmpeg -v error -threads 1 -f ") + demuxer + " -i " + name +
                          " -fps_mode passthrough -strict -1 -f yuv4mpegpipe -";
    FILE* pipe = popen(command.c_str(), "r");
    char header[256];
    if (!pipe || !fgets(header, sizeof header, pipe)) {
        unlink(name);
        return 999;
    }
    size_t width = 0, height = 0, sample = 1;
    for (char* word = strtok(header, " "); word; word = strtok(nullptr, " ")) {
        if (*word == 'W') width = strtoul(word + 1, nullptr, 10);
        if (*word == 'H') height = strtoul(word + 1, nullptr, 10);
        if (*word == 'C' && strstr(word, "p10")) sample = 2;
    }
    std::vector<std::vector<unsigned char>> pictures;
    const size_t bytes = width * height * 3 / 2 * sample;
    for (char line[64]; fgets(line, sizeof line, pipe);) {
        std::vector<unsigned char> picture(bytes);
        if (fread(picture.data(), 1, bytes, pipe) != bytes) break;
        pictures.push_back(picture);
    }
    pclose(pipe);
    unlink(name);
    if (fails("short") && !pictures.empty()) pictures.pop_back();
    // Coded sizes are multiples of 16; two rows above what is shown, so that places matter.
    Format format = {};
    format.codec = p.codec;
    format.progressive = !fails("fields");
    format.luma_depth = format.chroma_depth = sample > 1 ? 2 : 0;
    format.surfaces = 4;
    format.coded_width = (unsigned)((width + 15) / 16 * 16 + 16);
    format.coded_height = (unsigned)((height + 15) / 16 * 16 + 16);
    format.left = 4;
    format.top = 2;
    format.right = (int)width + 4;
    format.bottom = (int)height + 2;
    format.chroma = 1;
    if (!p.on_sequence(p.user, &format)) return 0;
    int index = 0;
    for (auto& picture : pictures) {
        if (fails("changes") && index == 5) {
            format.coded_width += 16;
            if (!p.on_sequence(p.user, &format)) return 0;
        }
        Decoder* decoder = current;
        decoder->surface.assign(decoder->width * decoder->height * 3 / 2 * decoder->sample, 0x5a);
        const unsigned char* chroma = picture.data() + width * height * sample;
        place(decoder, picture.data(), width, height, 2, 4, 1, 6);
        place(decoder, chroma, width / 2, height / 2, decoder->height + 1, 4, 2, 6);
        place(decoder, chroma + width * height / 4 * sample, width / 2, height / 2, decoder->height + 1, 5, 2, 6);
        int parameters[2048] = {};
        if (!p.on_decode(p.user, parameters)) return 0;
        Display display = {index++, 1, 1, 0, 0};
        if (!p.on_display(p.user, &display)) return 0;
    }
    return 0;
}

CUresult cuvidParseVideoData(void* handle, const Packet* packet) {
    Parser* parser = (Parser*)handle;
    bool frames = parser->parameters.codec > 8;
    if (frames && packet->bytes) {
        if (parser->stream.empty()) {
            parser->stream = std::string("DKIF\0\0\x20\0VP90", 12);
            put32(parser->stream, 0);
            put32(parser->stream, 25);
            put32(parser->stream, 1);
            put32(parser->stream, 0);
            put32(parser->stream, 0);
        }
        put32(parser->stream, (uint32_t)packet->bytes);
        put32(parser->stream, (uint32_t)parser->stream.size());
        put32(parser->stream, 0);
    }
    parser->stream.append((const char*)packet->data, packet->bytes);
    return packet->flags & 1 ? show_all(parser) : 0;
}
}
