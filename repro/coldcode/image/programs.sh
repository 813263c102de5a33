# The programs of MediaBench II, as Debian has them: each reads and writes files on ext4.
from=/data/$inputs
quiet="-nostdin -hide_banner -loglevel error -threads 1"
exact="-flags +bitexact -fflags +bitexact -threads 1 -y"
case $inputs in recorded) size=176x144 ;; *) size=352x288 ;; esac

# encoder, its format, its output
encode() {
    ffmpeg $quiet -f rawvideo -pix_fmt yuv420p -s $size -r 25 -i $from/video.yuv \
        -c:v $1 $exact -f $2 out/$3
}

# decoder's input and output
decode() {
    ffmpeg $quiet -i $from/$1 $exact -pix_fmt yuv420p -f rawvideo out/$2
}

cjpeg -outfile out/cjpeg $from/picture.ppm
djpeg -outfile out/djpeg $from/picture.jpg
opj_compress -i $from/picture.ppm -o out/jpg2000enc.jp2 > /dev/null
opj_decompress -i $from/picture.jp2 -o out/jpg2000dec.ppm > /dev/null
encode h263 h263 h263enc
decode video.h263 h263dec
decode video.h264 h264dec
encode mpeg2video mpeg2video mpeg2enc
decode video.m2v mpeg2dec
encode mpeg4 m4v mpeg4enc
decode video.m4v mpeg4dec
