# What no plan was made from: file systems, network, /proc, a core dump.
summed() {
    echo "$1 $(md5sum)" >> sums
}

# ext4, then tmpfs: a tree of files that are written, linked, moved, cut and removed.
mkdir -p /data/mounted
for place in /data/tree /data/mounted/tree; do
    case $place in /data/mounted/*) mount -t tmpfs tmpfs /data/mounted ;; esac
    mkdir -p $place/a/b/c
    number=0
    while [ $number -lt 40 ]; do
        head -c $((number * 997)) /data/recorded/video.yuv > $place/a/b/$number
        number=$((number + 1))
    done
    ln $place/a/b/7 $place/a/b/c/hard
    ln -s ../7 $place/a/b/c/soft
    mv $place/a/b/9 $place/a/moved
    truncate -s 12345 $place/a/b/30
    truncate -s 5 $place/a/b/31
    chmod 640 $place/a/b/32
    chown 12:34 $place/a/b/33
    touch -d @1000000000 $place/a/b/34
    cp -a $place/a $place/copy
    mkfifo $place/fifo
    (cat $place/a/b/39 > $place/fifo &)
    summed fifo < $place/fifo
    (cd $place && tar c a | tar t | sort) | summed names
    (cd $place && find . -type f | sort | xargs md5sum) | summed files
    (cd $place && stat -c '%a %u %g %s' a/b/3*) | summed modes
    sync
    rm -r $place
done
umount /data/mounted
df > /dev/null

# The network, on loopback. The listener must not see the end of its input before the file came.
ifconfig lo 127.0.0.1 up
ping -c 3 127.0.0.1 > /dev/null && echo pinged | summed ping
ping6 -c 3 ::1 > /dev/null && echo pinged | summed ping6
sleep 9 | nc -l -p 5000 > received &
sleep 1
nc 127.0.0.1 5000 < /data/recorded/video.yuv
wait
summed tcp < received
rm received
netstat -an > /dev/null
route -n > /dev/null
ip address > /dev/null

# What the kernel says of itself.
for file in $(find /proc -maxdepth 3 -type f ! -name kmsg ! -name 'kcore' ! -name 'kpage*' \
    ! -path '/proc/[0-9]*' ! -name '*trigger*' ! -name drop_caches ! -name compact_memory) \
    /proc/self/maps /proc/self/status /proc/self/stat /proc/1/smaps /proc/1/io; do
    cat "$file" > /dev/null 2>&1
done
find /sys -maxdepth 4 > /dev/null
ps > /dev/null
dmesg > /dev/null

# A core dump.
(ulimit -c unlimited && sh -c 'kill -SEGV $$') 2> /dev/null
ls core* > /dev/null && echo dumped | summed core
rm -f core*
